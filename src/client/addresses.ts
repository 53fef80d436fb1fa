/** Addresses that `start` is given, in full. */
import { createInstance, parseBase } from '../bridge/instance.ts';

/** Where the site's root is, if the Vite plugin says so. */
declare const __SETTEE_ROOT__: string | undefined;

/** Of a file of Settee's: as given, or else in the site's root. */
export function addressOf(given: string | URL | undefined, file: string): URL {
  const root = typeof __SETTEE_ROOT__ === 'string' ? __SETTEE_ROOT__ : '/';
  return new URL(given ?? root + file, document.baseURI);
}

export function workerAddress(given: string | URL | undefined): URL {
  return addressOf(given, 'settee-worker.js');
}

/** With a slash at its end. Throws an Error that says what is wrong with the base, and which are right. */
export function absoluteBase(given: string, worker: string | URL | undefined): string {
  return createInstance(parseBase(given, document.baseURI).href, workerAddress(worker).href).base;
}
