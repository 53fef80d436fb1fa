/**
 * Runs what starts the script of a worker or a service worker. Where the browser can't start it, it says little or nothing of the reason. So
 * it is found out which directive of a policy forbids the script, and what its address answers; the Error says so, and what to do about it.
 * A plain Error comes from the script itself, and is passed on.
 */
export async function startScript<T>(what: string, url: URL, start: () => Promise<T>): Promise<T> {
  const listening = new AbortController();
  let directive: string | undefined;
  const onViolation = ({ effectiveDirective }: SecurityPolicyViolationEvent) => {
    directive = effectiveDirective;
  };
  // The controller's signal ends the listening.
  addEventListener('securitypolicyviolation', onViolation, listening);
  try {
    return await start();
  } catch (cause) {
    if (Object(cause).constructor === Error) throw cause;
    const found = await fetch(url).then(({ status, headers }) => `${status} ${headers.get('content-type')}`, String);
    const reason = directive
      ? `the page's Content-Security-Policy forbids it by ${directive}`
      : (cause ?? 'no reason given');
    throw new Error(
      `The ${what} ${url.href} did not start: ${reason}; its address answers ${found}. ` +
        "Serve the files of settee/dist/browser as JavaScript from this page's origin, under a Content-Security-Policy with " +
        "worker-src 'self', without require-trusted-types-for, and without a sandbox.",
      { cause },
    );
  } finally {
    listening.abort();
  }
}
