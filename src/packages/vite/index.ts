/**
 * `settee/vite`, one line in the config of an app that Vite builds:
 *
 *     plugins: [settee({ base: '/db/' })]
 *
 * The worker and the service worker are served and emitted in the app's root, where `start()` looks for them.
 */
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { createPlugin, type FileOptions } from './plugin.ts';
import { createPrecachePlugin, type PrecacheOptions } from './precache.ts';
import { mustServePage, openUtils } from './utils.ts';

export type { PrecacheOptions } from './precache.ts';

export interface SetteePluginOptions extends FileOptions {
  /** Makes the service worker keep the files of the build, so that the app also starts without a network. Default: false. */
  readonly precache?: boolean | PrecacheOptions;
  /**
   * Makes the service worker serve the administration page at `_utils/` below the base. An own service worker gets it by the option of the same
   * name of `createSettee`. Default: false.
   */
  readonly utils?: boolean;
}

/** Throws an Error if the app wants the administration page, but has its base on another origin. */
export function settee({ precache = false, utils = false, ...options }: SetteePluginOptions = {}): Plugin[] {
  const folder = fileURLToPath(new URL('../browser', import.meta.url));
  if (utils) mustServePage(options.base ?? '/db/');
  const page = utils ? openUtils(fileURLToPath(new URL('../utils', import.meta.url))) : undefined;
  const files = createPlugin(options, folder, page);
  if (precache === false) return [files];
  return [files, createPrecachePlugin(precache === true ? {} : precache, folder)];
}

export default settee;
