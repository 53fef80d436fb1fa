/** The name of the Error if there is nothing at the address of a script, or a page. */
export const MISSING_SCRIPT = 'MissingScript';

const MISSING = 'The file is not there: with Vite add the plugin settee/vite, else copy it. ';
const MODULE =
  "It is a module, and a service worker with Settee must be a classic script: bundle it in the format 'iife'. ";

/**
 * Runs the start of a worker's or a service worker's script. If the browser can't start it, it says little or nothing about the reason. So
 * this finds out which directive of a policy forbids the script, and what its address answers; the Error says so, and what to do about it.
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
    const answer = await fetch(url).catch(String);
    const found = typeof answer === 'string' ? answer : `${answer.status} ${answer.headers.get('content-type')}`;
    const reason = directive
      ? `the page's Content-Security-Policy forbids it by ${directive}`
      : (cause ?? 'no reason given');
    const failure = new Error(
      `The ${what} ${url.href} did not start: ${reason}; its address answers ${found}. ` +
        `${isMissing(answer) ? MISSING : ''}${what === 'service worker' && (await isModule(answer)) ? MODULE : ''}` +
        "Serve the files of settee/dist/browser as JavaScript from this page's origin, under a Content-Security-Policy with " +
        "worker-src 'self', with settee among its trusted-types where it has those, and without a sandbox.",
      { cause },
    );
    throw isMissing(answer) ? Object.assign(failure, { name: MISSING_SCRIPT }) : failure;
  } finally {
    listening.abort();
  }
}

/** Also true if the server has a page for every unknown address, like those of single-page apps. */
function isMissing(answer: Response | string): boolean {
  return typeof answer !== 'string' && (!answer.ok || Boolean(answer.headers.get('content-type')?.includes('html')));
}

/** Browsers report almost nothing about a module in place of a script, so this checks its text. */
async function isModule(answer: Response | string): Promise<boolean> {
  if (typeof answer === 'string' || isMissing(answer)) return false;
  return /(^|[;}])\s*(import\s*["'{*]|import\s+\w|export\s*[{*]|export\s+\w)/m.test(await answer.text());
}
