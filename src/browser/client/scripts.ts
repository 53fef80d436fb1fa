/** The scripts of the page's worker and of the service worker: their addresses, and what prevents one that does not start. */

import { createInstance, parseBase } from '../bridge/instance.ts';

/** Where the site's root is, if the Vite plugin sets it. */
declare const __SETTEE_ROOT__: string | undefined;

/** The folder below the root with the files of the page's worker, if the Vite plugin sets it: none, or one whose name changes with them. */
declare const __SETTEE_WORKER_FOLDER__: string | undefined;

const workerFolder = typeof __SETTEE_WORKER_FOLDER__ === 'string' ? __SETTEE_WORKER_FOLDER__ : '';

/** The address of one of Settee's files: the given one, or else in the site's root. */
function addressOf(given: string | URL | undefined, file: string): URL {
  const root = typeof __SETTEE_ROOT__ === 'string' ? __SETTEE_ROOT__ : '/';
  return new URL(given ?? root + file, document.baseURI);
}

/** The ready-made service worker, or the app's own. */
export function serviceWorkerAddress(given: string | URL | undefined, base: string): URL {
  return addressOf(given, `settee-sw.js?base=${encodeURIComponent(base)}`);
}

export function workerAddress(given: string | URL | undefined): URL {
  return addressOf(given, `${workerFolder}settee-worker.js`);
}

/** Whether the address of the worker's script changes with its version: a missing script was then replaced. */
export function isVersioned(given: string | URL | undefined): boolean {
  return !given && workerFolder !== '';
}

/** Returns the base with a slash at its end. Throws an Error that says what is wrong with an invalid base, and which bases are valid. */
export function absoluteBase(given: string, worker: string | URL | undefined): string {
  return createInstance(parseBase(given, document.baseURI).href, workerAddress(worker).href).base;
}

/** The name of the Error if there is nothing at the address of a script, or a page. */
export const MISSING_SCRIPT = 'MissingScript';

const MISSING = 'The file is not there: with Vite add the plugin settee/vite, otherwise copy the file. ';
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
        "worker-src 'self', with settee in trusted-types if it has that directive, and without sandbox.",
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
