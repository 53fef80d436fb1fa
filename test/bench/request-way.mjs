/**
 * The way of a request through the sources: how many files and folders it enters, and how often it moves from one room to another
 * (src/README.md#the-rooms). Every function is instrumented, so times mean nothing.
 *
 *     node test/bench/request-way.mjs          a table
 *     node test/bench/request-way.mjs --files  the files, too, in the order in which they are entered first
 */
import { fileURLToPath } from 'node:url';
import { createServer, parseSync } from 'vite';

const root = fileURLToPath(new URL('../..', import.meta.url));
const entered = [];
let isRecording = false;

globalThis.__enter = (file) => {
  if (isRecording) entered.push(file);
};

/** Has every function say its file first. */
const instrument = {
  name: 'instrument',
  enforce: 'post',
  transform(code, id) {
    const [, file] = /\/src\/(.*\.ts)$/.exec(id) ?? [];
    if (file === undefined) return undefined;
    const inserted = [];
    const visit = (node) => {
      if (Array.isArray(node)) return node.forEach(visit);
      if (typeof node !== 'object' || node === null) return undefined;
      if (/Function/.test(node.type) && node.body) {
        const call = `globalThis.__enter(${JSON.stringify(file)})`;
        if (node.body.type === 'BlockStatement' || node.body.type === 'FunctionBody')
          inserted.push([node.body.start + 1, `${call};`]);
        else inserted.push([node.body.start, `(${call}, `], [node.body.end, ')']);
      }
      return Object.values(node).forEach(visit);
    };
    visit(parseSync('file.js', code, { lang: 'js', sourceType: 'module' }).program);
    inserted.sort(([one], [other]) => other - one);
    let text = code;
    for (const [at, what] of inserted) text = text.slice(0, at) + what + text.slice(at);
    return { code: text, map: null };
  },
};

const vite = await createServer({
  root,
  configFile: fileURLToPath(new URL('../../vite.config.ts', import.meta.url)),
  mode: 'test',
  server: { middlewareMode: true, hmr: false, watch: null },
  plugins: [instrument],
  logLevel: 'error',
  optimizeDeps: { noDiscovery: true },
});

const { NodeHost } = await vite.ssrLoadModule('/test/support/conformance/node-host.ts');
const host = await NodeHost.start();

async function ask(method, path, body) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${host.baseUrl}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  return answer.json();
}

const roomOf = (file) => file.split('/', 1)[0];
const folderOf = (file) => file.slice(0, file.lastIndexOf('/'));

async function follow(name, request) {
  // Once to warm up: what is loaded or opened on first use is not on the way of the next one.
  await request(0);
  await new Promise((resolve) => setTimeout(resolve, 500));
  entered.length = 0;
  isRecording = true;
  await request(1);
  isRecording = false;
  const moves = entered.filter((file, index) => index > 0 && roomOf(file) !== roomOf(entered[index - 1])).length;
  const files = [...new Set(entered)];
  return { name, files, folders: new Set(files.map(folderOf)).size, calls: entered.length, moves };
}

await ask('PUT', '/db');
const rows = [
  await follow('PUT of 25 bytes', (round) => ask('PUT', `/db/doc-${round}`, { text: 'a small document' })),
  await follow('GET', () => ask('GET', '/db/doc-0')),
  await follow('local replication of three documents', async (round) => {
    const source = `source-${round}`;
    isRecording = false;
    await ask('PUT', `/${source}`);
    for (let n = 0; n < 3; n++) await ask('PUT', `/${source}/${n}`, { n });
    await new Promise((resolve) => setTimeout(resolve, 500));
    isRecording = round > 0;
    return ask('POST', '/_replicate', { source, target: `target-${round}`, create_target: true });
  }),
];
for (const { name, files, folders, calls, moves } of rows) {
  console.log(`${name}: ${files.length} files of ${folders} folders, ${calls} calls, ${moves} moves between rooms`);
  if (process.argv.includes('--files')) console.log(files.map((file) => `  ${file}`).join('\n'));
}
await host.close();
await vite.close();
process.exit();
