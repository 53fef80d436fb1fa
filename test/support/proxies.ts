/** The proxies of docs/operations, started with the files as they are, but for addresses, ports and certificates. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { request as requestOfHttps } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');
export const HOST = 'db.example.org';

export function operationsFile(name: string): string {
  return readFileSync(join(repository, 'docs/operations', name), 'utf8');
}

export function isInstalled(tool: string): Promise<boolean> {
  return run('sh', ['-c', `command -v ${tool}`]).then(
    () => true,
    () => false,
  );
}

/** Writes a certificate and its key to a folder, each alone and both in one file. */
export async function certify(folder: string): Promise<void> {
  const files = ['-out', join(folder, 'fullchain.pem'), '-keyout', join(folder, 'privkey.pem')];
  const names = ['-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`];
  await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...names, ...files]);
  const parts = ['fullchain.pem', 'privkey.pem'].map((name) => readFileSync(join(folder, name), 'utf8'));
  writeFileSync(join(folder, `${HOST}.pem`), parts.join(''));
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

export interface RunningProxy {
  /** Of https. */
  readonly port: number;
  stop(): Promise<void>;
}

/** How each proxy is started: its configuration, and its command. `folder` has the certificate. */
interface Recipe {
  readonly tool: string;
  readonly configure: (folder: string, port: number, plainPort: number, target: string) => string;
  readonly command: (file: string, folder: string) => readonly string[];
}

function nginxOf(name: string): Recipe {
  return {
    tool: 'nginx',
    configure: (folder, port, plainPort, target) => {
      const servers = operationsFile(name)
        .replaceAll(`/etc/letsencrypt/live/${HOST}`, folder)
        .replaceAll(/^ *listen \[::\]:.*\n/gm, '')
        .replaceAll('listen 80;', `listen 127.0.0.1:${plainPort};`)
        .replaceAll('listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`)
        .replaceAll('127.0.0.1:5984', target)
        .replaceAll(/10\.0\.0\.1[12]:5984/g, target);
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((kind) => `${kind}_temp_path ${join(folder, kind)};`)
        .join('\n');
      const own = `error_log stderr;\npid ${join(folder, 'nginx.pid')};\nevents {}\n`;
      return `${own}http {\naccess_log off;\n${paths}\n${servers}\n}\n`;
    },
    command: (file, folder) => ['-p', folder, '-c', file, '-g', 'daemon off; master_process off;'],
  };
}

const RECIPES: Readonly<Record<string, Recipe>> = {
  'nginx.conf': nginxOf('nginx.conf'),
  'nginx-cluster.conf': nginxOf('nginx-cluster.conf'),
  Caddyfile: {
    tool: 'caddy',
    configure: (folder, port, plainPort, target) => {
      const keys = `\ttls ${join(folder, 'fullchain.pem')} ${join(folder, 'privkey.pem')}\n`;
      const own = `{\n\tadmin off\n\thttp_port ${plainPort}\n\thttps_port ${port}\n}\n`;
      const site = operationsFile('Caddyfile').replace(`${HOST} {\n`, `${HOST} {\n\tbind 127.0.0.1\n${keys}`);
      return `${own}${site.replace('127.0.0.1:5984', target)}`;
    },
    command: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
  'haproxy.cfg': {
    tool: 'haproxy',
    configure: (folder, port, plainPort, target) =>
      operationsFile('haproxy.cfg')
        .replaceAll('/etc/haproxy', folder)
        .replace('bind :80\n', `bind 127.0.0.1:${plainPort}\n`)
        .replace('bind :443 ', `bind 127.0.0.1:${port} `)
        .replaceAll(/10\.0\.0\.1[12]:5984/g, target),
    command: (file) => ['-db', '-f', file],
  },
};

export const PROXIES = Object.entries(RECIPES).map(([file, { tool }]) => ({ file, tool }));

/** Starts a proxy in front of a server. `target`: its host and port. Fails with what the proxy says if it ends. */
export async function startProxy(file: string, folder: string, target: string): Promise<RunningProxy> {
  const recipe = RECIPES[file];
  if (recipe === undefined) throw new Error(`there is no recipe for ${file}`);
  const [port, plainPort] = [await freePort(), await freePort()];
  const path = join(folder, file);
  writeFileSync(path, recipe.configure(folder, port, plainPort, target));
  // Caddy keeps its state there.
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const proxy = spawn(recipe.tool, recipe.command(path, folder), { stdio: ['ignore', 'pipe', 'pipe'], env });
  let said = '';
  for (const stream of [proxy.stdout, proxy.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  const stop = () => end(proxy);
  try {
    await accepts(port, proxy);
    return { port, stop };
  } catch {
    await stop();
    throw new Error(`${recipe.tool} ended: ${said}`);
  }
}

async function end(proxy: ChildProcess): Promise<void> {
  if (proxy.exitCode !== null || proxy.signalCode !== null) return;
  const exited = once(proxy, 'exit');
  proxy.kill('SIGKILL');
  await exited;
}

/** Resolves when the port takes connections; fails if the process ends before. */
async function accepts(port: number, proxy: ChildProcess): Promise<void> {
  for (;;) {
    if (proxy.exitCode !== null || proxy.signalCode !== null) throw new Error('it has ended');
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends a request to a proxy by https. Resolves when the head of the response is there. */
export function open(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: Asked = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method, servername: HOST, rejectUnauthorized: false };
    const asking = requestOfHttps({ ...options, headers: { host: HOST, ...headers } }, resolve);
    asking.once('error', reject);
    asking.end(body);
  });
}

export async function ask(port: number, path: string, asked?: Asked): Promise<Answered> {
  const response = await open(port, path, asked);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() };
}
