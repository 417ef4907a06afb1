// The search of this site reads its index from a server, which browsers refuse to pages that are opened as files.
if (location.protocol === "file:") {
  const note = document.createElement("p");
  note.className = "no-search";
  note.textContent = "No search in files: python -m http.server -d build/site";
  note.title = "Browsers do not let a page that was opened as a file read another one, such as the search index.";
  document.querySelector(".md-header__inner")?.append(note);
}
