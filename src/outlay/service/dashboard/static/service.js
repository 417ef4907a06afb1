// Talking to the service: requests with the session's token, and what goes wrong as one sentence.

export const session = { name: "", scopes: [], csrf: "" };

/** A refusal, with its code. */
export class Refused extends Error {
  constructor(problem) {
    super(problem.detail || problem.title);
    this.code = problem.code;
  }
}

/** The answer to a request, or Refused. */
export async function call(method, path, body) {
  const headers = { "x-csrf-token": session.csrf };
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  if (answer.status === 204) return null;
  const said = await answer.json();
  if (!answer.ok) throw new Refused(said);
  return said;
}

/** The path of something in a campaign. */
export function pathOf(campaign, ...parts) {
  return ["/v1/campaigns", ...[campaign, ...parts].map(encodeURIComponent)].join("/");
}

/** Whether whoever is logged in may change things. */
export function isAdmin() {
  return session.scopes.includes("admin");
}
