/** Starts a browser as a user does, with an address and a fresh profile, and nothing that looks into it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runnerImport } from 'vite';
import { root } from '../../../src/node/prepare.mjs';

export async function launch(engine, address) {
  const profile = mkdtempSync(join(tmpdir(), 'settee-bench-'));
  const { module: programs } = await runnerImport(join(root, 'test/browser/drivers/find-browser.ts'));
  const processes = [];
  const start = (program, programArguments, options = {}) => {
    const child = spawn(program, programArguments, { stdio: 'ignore', ...options });
    processes.push(child);
    return child;
  };
  await starters[engine](programs, { profile, address, start });
  return {
    // Under a display of its own the browser comes last.
    pid: processes.at(-1).pid,
    close: async () => {
      for (const child of processes.reverse()) {
        if (child.exitCode === null && child.kill()) await once(child, 'exit');
      }
      // Its helper processes end a little later, and write until then.
      await rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

const starters = {
  async chromium(programs, { profile, address, start }) {
    const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];
    const quiet = ['--disable-background-networking', '--disable-component-update', '--no-default-browser-check'];
    start(programs.findChromium(), ['--headless=new', `--user-data-dir=${profile}`, ...flags, ...quiet, address]);
  },

  async firefox(programs, { profile, address, start }) {
    const preferences = [
      'user_pref("browser.shell.checkDefaultBrowser", false);',
      'user_pref("datareporting.policy.dataSubmissionEnabled", false);',
      'user_pref("app.update.enabled", false);',
      'user_pref("browser.aboutwelcome.enabled", false);',
    ];
    writeFileSync(join(profile, 'user.js'), preferences.join('\n'));
    start(programs.findFirefox(), ['--headless', '--no-remote', '--profile', profile, address]);
  },

  async webkit(programs, { profile, address, start }) {
    const { browser, display: program } = programs.findWebKit();
    let display = process.env.DISPLAY;
    if (program !== undefined) {
      const server = start(program, ['-displayfd', '1', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const [number] = await once(server.stdout, 'data');
      display = `:${String(number).trim()}`;
    }
    const folders = { HOME: profile, XDG_DATA_HOME: join(profile, 'data'), XDG_CACHE_HOME: join(profile, 'cache') };
    start(browser, [address], {
      env: { ...process.env, ...folders, DISPLAY: display, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' },
    });
  },
};
