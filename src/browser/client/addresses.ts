/** Absolute addresses from those passed to `start`. */
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
