/**
 * Why a script did not start, as far as can be found out, and what to do about it. `cause` is what the browser said, which often is
 * nothing.
 */
export async function explainScript(what: string, url: URL, cause: unknown): Promise<Error> {
  const found = await fetch(url).then(({ status, headers }) => `${status} ${headers.get('content-type')}`, String);
  const remedy = `Serve it from this page's origin as JavaScript (a copy is in settee/dist/browser) and allow 'self' in the CSP's worker-src`;
  return new Error(
    `The ${what} ${url} did not start: ${cause ?? 'no reason given'}; its address answers ${found}. ${remedy}`,
    { cause },
  );
}
