import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, onTestFailed, onTestFinished, test } from 'vitest';
import type { Browser } from '../browser/drivers/browser.ts';
import { prepareBrowser } from '../browser/drivers/find-browser.ts';
import { chosenEngines, startBrowser } from '../browser/drivers/start.ts';
import { StarterPage } from '../recipes/starter-page.ts';
import { WalkThrough } from '../recipes/walk-through.ts';

const repository = join(import.meta.dirname, '../..');

/** What `npm install` would install, from where it is already. */
const installed: Readonly<Record<string, readonly string[]>> = {
  node_modules: ['vite', 'vitest', 'msw', 'typescript'],
  'test/integrations/node_modules': ['react', 'react-dom', '@types/react', '@types/react-dom'],
};

/** All other choices are made by `npm run test:recipes`, which installs what they need. */
let reader: WalkThrough;

/** The declarations, and the package of the server. */
beforeAll(() => {
  for (const engine of chosenEngines()) prepareBrowser(engine);
  execFileSync(process.execPath, [join(repository, 'src/packages/build/prepack.mjs')], { stdio: 'ignore' });
}, 300_000);

/** An app of `create-settee` with React and a server, in a folder in which its packages are installed. */
async function makeApp(): Promise<void> {
  reader = new WalkThrough({ tarball: '' });
  onTestFinished(() => reader.remove());
  const command = join(repository, 'src/packages/create/create-settee.mjs');
  await reader.run(`node ${command} field-notes --framework react --server`);
  link('settee', repository);
  for (const [folder, names] of Object.entries(installed)) {
    for (const name of names) link(name, join(repository, folder, name));
  }
}

function link(name: string, target: string): void {
  const path = join(reader.folder, 'field-notes/node_modules', name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, 'junction');
}

/** The server as its script starts it, at a free port. Vite compiles JSX without the plugin, which is for development. */
async function startServer(): Promise<void> {
  const { scripts } = JSON.parse(readFileSync(join(reader.folder, 'field-notes/package.json'), 'utf8'));
  const serve = String(scripts.server).replace(
    /^settee /,
    `node ${join(repository, 'dist/packages/settee-server/command.mjs')} `,
  );
  const address = await reader.serve(`cd field-notes && ${serve} --port 0 --no-demo`);
  const { origin } = new URL(address);
  const config = readFileSync(join(reader.folder, 'field-notes/vite.config.ts'), 'utf8')
    .replace("import react from '@vitejs/plugin-react';\n", '')
    .replace('plugins: [react(), ', "resolve: { dedupe: ['react', 'react-dom'] },\n  plugins: [")
    .replace('http://127.0.0.1:5984', origin);
  reader.write([['field-notes/vite.config.ts', config]]);
  const answers = String.raw`printf 'admin\ns3cret\n'`;
  await reader.run(`cd field-notes && ${answers} | SETTEE_SERVER=${origin} node server/make-admin.mjs`);
}

async function open(engine: Browser['engine'], address: string): Promise<StarterPage> {
  const browser = await startBrowser(engine);
  onTestFailed(() => console.info(browser.messages.slice(-30).join('\n')));
  onTestFinished(() => browser.close());
  return StarterPage.open(browser, address);
}

describe.each(chosenEngines())('in %s', (engine) => {
  test('an app of create-settee is checked, tested, built, and in sync on two devices', async () => {
    await makeApp();
    await startServer();
    await reader.run('cd field-notes && node node_modules/typescript/bin/tsc');
    expect(await reader.run('cd field-notes && node node_modules/vitest/vitest.mjs run')).toMatch(/Tests +4 passed/);
    await reader.run('cd field-notes && node node_modules/vite/bin/vite.js build');
    const address = await reader.serve('cd field-notes && node node_modules/vite/bin/vite.js preview --port 0');

    const phone = await open(engine, address);
    await phone.logIn('Zoë', 'apple', 'sign-up');
    await phone.isOf('Zoë');
    await phone.add('a view', 500);
    await phone.says('Everything is on the server.');
    const laptop = await open(engine, address);
    await laptop.logIn('Zoë', 'apple', 'log-in');
    await laptop.shows('a view');
    await laptop.showsPhotos(500);
    await laptop.toggle('a view');
    await phone.shows('x a view');
    await phone.isControlled();

    await reader.stop();
    await phone.tab.reload();
    await phone.shows('x a view');
    await phone.showsPhotos(500);
    await phone.add('later');
    await phone.shows('later', 'x a view');
  });
});
