/**
 * `npm run pictures`: the pictures of README and docs, taken from the running pages: builds, starts a server in memory with the demo beside it,
 * fills both, opens them in Chromium, and writes docs/pictures/*.webp. Names after the command take only the scenes whose names begin
 * with them: `npm run pictures -- demo`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { runnerImport } from 'vite';
import { build, checkNode, install, root } from '../../src/node/prepare.mjs';
import { admin, fillServer } from './content.mjs';
import { scenes } from './scenes.mjs';

const folder = join(root, 'docs', 'pictures');

/** Of one picture, and of all of them. */
const MAX_BYTES = 150_000;
const MAX_TOTAL_BYTES = 1_000_000;

checkNode();
install();
build();
const { module: programs } = await runnerImport(join(root, 'test/browser/drivers/find-browser.ts'));
const wanted = process.argv.slice(2);
const chosen = scenes.filter(({ name }) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)));
if (chosen.length === 0) fail(`There is no such scene; there are ${scenes.map(({ name }) => name).join(', ')}.`);
else await takeAll();

async function takeAll() {
  const server = await startServer();
  const browser = await chromium.launch({ executablePath: programs.findChromium(), args: ['--no-sandbox'] });
  try {
    await fillServer(server.database);
    mkdirSync(folder, { recursive: true });
    if (wanted.length === 0) for (const name of readdirSync(folder)) rmSync(join(folder, name));
    const sizes = [];
    for (const scene of chosen) sizes.push(...(await takeScene(browser, server, scene)));
    const sum = sizes.reduce((total, size) => total + size, 0);
    process.stdout.write(`${sizes.length} pictures, ${Math.round(sum / 1000)} kB\n`);
    if (sum > MAX_TOTAL_BYTES || sizes.some((size) => size > MAX_BYTES)) {
      fail(`A picture may have ${MAX_BYTES} bytes, and all together ${MAX_TOTAL_BYTES}.`);
    }
  } finally {
    await browser.close();
    await server.stop();
  }
}

/** In each of its themes, each in a browser profile of its own. */
async function takeScene(browser, server, { name, size = [1280, 800], themes = ['light'], take }) {
  const sizes = [];
  for (const theme of themes) {
    const [width, height] = size;
    const isPhone = width < 500;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      locale: 'en',
      reducedMotion: 'reduce',
      hasTouch: isPhone,
      isMobile: isPhone,
      deviceScaleFactor: isPhone ? 2 : 1,
    });
    try {
      const page = await context.newPage();
      await take({ page, context, server });
      // Nothing that moves, and no caret.
      const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
      const picture = await toWebP(context, png);
      const file = themes.length > 1 ? `${name}-${theme}.webp` : `${name}.webp`;
      writeFileSync(join(folder, file), picture);
      sizes.push(picture.length);
      process.stdout.write(`${file}: ${Math.round(picture.length / 1000)} kB\n`);
    } catch (error) {
      throw new Error(`The scene ${name} (${theme}) could not be taken`, { cause: error });
    } finally {
      await context.close();
    }
  }
  return sizes;
}

/** The browser that shows the pages also writes the format. */
async function toWebP(context, png) {
  const page = await context.newPage();
  const base64 = await page.evaluate(async (data) => {
    const blob = await (await fetch(`data:image/png;base64,${data}`)).blob();
    const bitmap = await createImageBitmap(blob);
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    canvas.getContext('2d').drawImage(bitmap, 0, 0);
    return canvas.toDataURL('image/webp', 0.86).split(',')[1];
  }, png.toString('base64'));
  await page.close();
  return Buffer.from(base64, 'base64');
}

/** `npm start`, on free ports, with nothing on disk. */
async function startServer() {
  const options = [
    '--memory',
    '--port',
    '0',
    '--demo-port',
    '0',
    '--log-level',
    'error',
    '--set',
    `admins/${admin.name}=${admin.password}`,
  ];
  const child = spawn(process.execPath, [join(root, 'src/node/bootstrap.mjs'), ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8');
  for await (const text of child.stdout.iterator({ destroyOnReturn: false })) {
    printed += text;
    if (/demo is at \S+\n/.test(printed)) break;
  }
  const [database, demo] = [/answers at (\S+)/, /demo is at (\S+)/].map((pattern) => pattern.exec(printed)?.[1]);
  if (database === undefined || demo === undefined) throw new Error(`The server did not start: ${printed}`);
  const stop = async () => {
    child.kill('SIGINT');
    if (child.exitCode === null) await once(child, 'exit');
  };
  return { database, demo, stop };
}

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
