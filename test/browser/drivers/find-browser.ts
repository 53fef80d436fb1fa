import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from './browser.ts';

/** One program that a driver starts, and where it comes from. */
interface Program {
  /** The environment variable that names another one. */
  readonly variable: string;
  readonly paths: readonly string[];
  /** Debian's package. */
  readonly package: string;
}

const chromium: Program = {
  variable: 'CHROMIUM_PATH',
  paths: [
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
    '/usr/bin/google-chrome-stable',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  package: 'chromium',
};

const firefox: Program = {
  variable: 'FIREFOX_PATH',
  paths: ['/usr/bin/firefox-esr', '/usr/bin/firefox', '/Applications/Firefox.app/Contents/MacOS/firefox'],
  package: 'firefox-esr',
};

const webkitDriver: Program = {
  variable: 'WEBKIT_DRIVER_PATH',
  paths: ['/usr/bin/WebKitWebDriver'],
  package: 'webkit2gtk-driver',
};

const miniBrowser: Program = {
  variable: 'WEBKIT_PATH',
  paths: ['/usr/lib/*/webkit2gtk-4.1/MiniBrowser', '/usr/libexec/webkit2gtk-4.1/MiniBrowser'],
  package: 'libwebkit2gtk-4.1-0',
};

const virtualDisplay: Program = { variable: 'XVFB_PATH', paths: ['/usr/bin/Xvfb'], package: 'xvfb' };

const names = { chromium: 'Chromium', firefox: 'Firefox', webkit: 'WebKitGTK' } as const satisfies Record<
  Engine,
  string
>;

export interface WebKitPrograms {
  readonly driver: string;
  readonly browser: string;
  /** Undefined where there is a display already. */
  readonly display: string | undefined;
}

export function findChromium(): string {
  return find('chromium', chromium);
}

export function findFirefox(): string {
  return find('firefox', firefox);
}

export function findWebKit(): WebKitPrograms {
  return {
    driver: find('webkit', webkitDriver),
    browser: find('webkit', miniBrowser),
    display: process.env['DISPLAY'] === undefined ? find('webkit', virtualDisplay) : undefined,
  };
}

/** Installs whatever the engine lacks, before any test waits for it. Throws an error that says what to install. */
export function prepareBrowser(engine: Engine): void {
  if (engine === 'chromium') findChromium();
  else if (engine === 'firefox') findFirefox();
  else findWebKit();
}

function find(engine: Engine, program: Program): string {
  const chosen = process.env[program.variable];
  if (chosen !== undefined && chosen !== '') {
    if (existsSync(chosen)) return chosen;
    throw new Error(`${program.variable} names ${chosen}, which does not exist; correct it or leave it unset`);
  }
  const found = installed(program) ?? (install(program) ? installed(program) : undefined);
  if (found !== undefined) return found;
  throw new Error(
    `The tests need ${names[engine]}, and it is not installed: install the package ${program.package} ` +
      `(as root: apt-get install ${program.package}), or set ${program.variable} to the program`,
  );
}

function installed(program: Program): string | undefined {
  return program.paths.flatMap(expand).find((path) => existsSync(path));
}

/** A star stands for any one folder: Debian's are named after the processor. */
function expand(path: string): string[] {
  const [before, after] = path.split('*');
  if (before === undefined || after === undefined || !existsSync(before)) return [path];
  return readdirSync(before).map((folder) => join(before, folder, after));
}

/** Debian's package, where this is a Debian and we may. */
function install(program: Program): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return false;
  console.info(`Installing ${program.package} by apt-get …`);
  const options = {
    stdio: ['ignore', 'ignore', 'inherit'] as const,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  };
  spawnSync('apt-get', ['update', '-qq'], { ...options, stdio: [...options.stdio] });
  const arguments_ = ['install', '-y', '-qq', '--no-install-recommends', program.package];
  return spawnSync('apt-get', arguments_, { ...options, stdio: [...options.stdio] }).status === 0;
}
