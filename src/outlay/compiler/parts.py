"""Functions that only compiled code calls: linked into the loop, optimized once with it.

Left to itself, numba makes every function ready to be called from Python: it links in all that the function calls,
optimizes the whole and turns it into machine code, though only the outermost loop is ever called so. Its callers then
do the same again, level by level, until most of the time is spent on copies. Here a function stays the code that was
written down for it, and whoever links it in optimizes it: half of the time, and the same arithmetic.
"""

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from outlay.compiler.untyped import Emitter


class Part(JITCodeLibrary):  # type: ignore[misc]
    """A function's code, with that of all it calls, as it was written down."""

    whole = False  # whether it is to be made ready as numba does it

    def finalize(self) -> None:
        """Link in what is called, and leave the rest to those who link this."""
        if self.whole:
            super().finalize()
            return
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):  # type: ignore[misc]
    """numba's last pass, which ends with a `Part` in place of machine code."""

    _name = "outlay_part_lowering"

    def run_pass(self, state: Emitter) -> bool:
        """Write the function down, and tell numba where to find it."""
        context, flags = state.targetctx, state.flags
        library = state["library"] = Part(context.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()
        flags.no_compile = True
        try:
            super().run_pass(state)
        finally:
            flags.no_compile = False
        function, environment = state.cr.fndesc, state.cr.env
        # Printing and the like need Python objects, at an address that only machine code of the function's own has.
        library.whole = str(library._final_module).count(function.env_name) > 1
        if library.whole:
            key = context.get_executable(library, function, environment)
        else:  # never called; by it callers find the code
            key = _dynfunc.make_function(function.lookup_module(), function.qualname, "", 0, environment, (library,))
        context.insert_user_function(key, function, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = state.cr._replace(cfunc=key)
        return True


class PartCompiler(CompilerBase):  # type: ignore[misc]
    """numba's passes, with another last one."""

    def define_pipelines(self) -> list[Emitter]:
        """The one way of compiling: without the interpreter."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(PartLowering if kind is NativeLowering else kind, says) for kind, says in passes.passes]
        passes.finalize()
        return [passes]
