// Which page is shown, and who is logged in.

import { showCampaign } from "./campaign.js";
import { question } from "./dialogs.js";
import { showList } from "./list.js";
import { call, session } from "./service.js";

const main = document.getElementById("main"), said = document.getElementById("said");
const who = document.getElementById("who"), out = document.getElementById("out"), live = document.getElementById("live");
let page = new AbortController();

function say(text) {
  said.textContent = text;
  if (text) setTimeout(() => { said.textContent = ""; }, 8000);
}

async function enter() {
  while (!session.csrf) {
    try {
      Object.assign(session, await call("GET", "/session"));
    } catch (error) {
      if (error.code !== "no_key" && error.code !== "forbidden") throw error;
      const fields = [{ name: "key", label: "Key", type: "password" }];
      await question("Log in", "This service needs a key that may read. The command “outlay keys new” makes one.", fields, "Log in",
        async (values) => Object.assign(session, await call("POST", "/session", values)), { must: true });
    }
  }
  const open = session.name === "no keys";
  who.textContent = open ? "no keys: this machine only" : session.name;
  out.hidden = open;
}

async function show() {
  page.abort();
  page = new AbortController();
  const { signal } = page;
  live.textContent = "";
  try {
    await enter();
    const state = (text) => { if (live.textContent !== text) live.textContent = text; };
    const [, name] = /^#\/c\/(.+)$/.exec(location.hash) ?? [];
    if (name === undefined) await showList(main, signal, state);
    else await showCampaign(main, decodeURIComponent(name), signal, state);
  } catch (error) {
    if (!signal.aborted) say(error.message);
  }
}

out.addEventListener("click", async () => {
  await call("DELETE", "/session");
  session.csrf = "";
  location.hash = "#/";
  location.reload();
});
document.querySelector(".skip").addEventListener("click", (event) => { // the hash says which page is shown
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => { main.focus(); show(); });
addEventListener("unhandledrejection", (event) => say(event.reason?.message ?? "Something went wrong."));
show();
