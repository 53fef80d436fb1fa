/**
 * `settee/vite`, one line in the config of an app that Vite builds:
 *
 *     plugins: [settee({ base: '/db/' })]
 *
 * The worker and the service worker are served and emitted in the app's root, where `start()` looks for them.
 */
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { createPlugin, type SetteePluginOptions } from './plugin.ts';

export type { SetteePluginOptions } from './plugin.ts';

export function settee(options: SetteePluginOptions = {}): Plugin {
  return createPlugin(options, fileURLToPath(new URL('../browser', import.meta.url)));
}

export default settee;
