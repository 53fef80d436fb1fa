/**
 * `settee/vite`, one line in the config of an app that Vite builds:
 *
 *     plugins: [settee({ base: '/db/' })]
 *
 * The worker and the service worker are served and emitted in the app's root, where `start()` looks for them.
 */
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { createPlugin, type SetteePluginOptions as FileOptions } from './plugin.ts';
import { createPrecachePlugin, type PrecacheOptions } from './precache.ts';

export type { PrecacheOptions } from './precache.ts';

export interface SetteePluginOptions extends FileOptions {
  /** Makes the service worker keep the files of the build, so that the app also starts without a network. Default: false. */
  readonly precache?: boolean | PrecacheOptions;
}

export function settee({ precache = false, ...options }: SetteePluginOptions = {}): Plugin[] {
  const folder = fileURLToPath(new URL('../browser', import.meta.url));
  const files = createPlugin(options, folder);
  if (precache === false) return [files];
  return [files, createPrecachePlugin(precache === true ? {} : precache, folder)];
}

export default settee;
