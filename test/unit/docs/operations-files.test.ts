/** Commands, options, variables and settings on the page for operators, and in the files beside it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { createConfig } from '../../../src/core/config/config-store.ts';
import { isKnown, knownNames } from '../../../src/core/config/known-settings.ts';
import { ownName, splitName } from '../../../src/core/config/setting-names.ts';
import { parseCommand } from '../../../src/node/command-line/arguments.ts';
import { readPage, repository } from './pages.ts';

const run = promisify(execFile);
const folder = join(repository, 'docs/operations');
const page = readPage('docs/operations.md').text;
const files = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
const all = [page, ...files.values()].join('\n');
const scratch = mkdtempSync(join(tmpdir(), 'settee-operations-'));

afterAll(() => rmSync(scratch, { recursive: true }));

function fileOf(name: string): string {
  const text = files.get(name);
  if (text === undefined) throw new Error(`docs/operations/${name} is missing`);
  return text;
}

/** The arguments of each command, however it is started. */
function commandsIn(text: string): string[][] {
  const code = [...text.matchAll(/^```(?:sh|)\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const lines = [...code, text.replace(/^```.*?^```$/gms, '')].flatMap((one) => one.split('\n'));
  const ofShell = lines.flatMap((line) => {
    const [, rest] =
      /(?:^|(?:npx|--|ExecStart=\S*\/|\*|settee \/usr\/local\/bin\/|`)\s?)settee ((?:serve|admin|backup|restore|verify|copy)\b[^`]*)/.exec(
        line,
      ) ?? [];
    return rest === undefined ? [] : [wordsOf(rest)];
  });
  const ofImage = [...text.matchAll(/(?:CMD|command:) (\["serve".*?\])/g)].map(
    ([, list = '']) => JSON.parse(list) as string[],
  );
  const ofCompose = [...text.matchAll(/docker compose .*run --rm \S+ (admin .*)/g)].map(([, rest = '']) =>
    wordsOf(rest),
  );
  return [...ofShell, ...ofImage, ...ofCompose];
}

function wordsOf(text: string): string[] {
  return [...text.matchAll(/'([^']*)'|(\S+)/g)]
    .map(([, quoted, plain]) => quoted ?? plain ?? '')
    .map((word) => word.replace(/[,;.]$/, ''));
}

test('every command can be parsed', () => {
  // A command that is only named has no arguments.
  const commands = commandsIn(all).filter(({ length }) => length > 1);
  expect(commands.length).toBeGreaterThan(12);
  for (const words of commands) {
    const url = words.map((word) => (word === 'URL' ? 'postgres://db.example.org/settee' : word));
    expect(() => parseCommand(url, {}), url.join(' ')).not.toThrow();
  }
});

test('every variable is one that the command line reads', () => {
  const source = ['flags.ts', 'arguments.ts']
    .map((name) => readFileSync(join(repository, 'src/node/command-line', name), 'utf8'))
    .join('\n');
  const named = new Set([...all.matchAll(/\bSETTEE_[A-Z]+\b/g)].map(([name]) => name));
  expect([...named].sort()).toEqual(['SETTEE_DATA', 'SETTEE_HOST', 'SETTEE_PORT', 'SETTEE_PRESET', 'SETTEE_STORAGE']);
  for (const name of named) expect(source).toContain(`environment['${name}']`);
});

test('every setting exists', () => {
  const sections = new Set(knownNames().map((name) => splitName(name).section));
  const named = [...all.matchAll(/(?:`|--set )([a-z_]+)\/([\w-]+)(?:=|`)/g)].filter(([, section = '']) =>
    sections.has(section),
  );
  expect(named.length).toBeGreaterThan(8);
  for (const [text, section = '', key = ''] of named) {
    const own = ownName(section, key);
    expect(isKnown(own.section, own.key), text).toBe(true);
  }
});

test('the pattern for failed log-ins finds the address in entries of the log', () => {
  const [, pattern = ''] = /^failregex = (.*)$/m.exec(page) ?? [];
  const failregex = new RegExp(pattern.replace('<HOST>', '(?<host>[\\da-f.:]+)'));
  for (const who of ['"ana" ', '']) {
    const entry = `2026-01-31T12:00:00.000Z [warning] a log-in failed: ${who}from 203.0.113.7, by a session`;
    expect(failregex.exec(entry)?.groups?.['host']).toBe('203.0.113.7');
  }
});

test('settings in the comments of the proxies fit the server', () => {
  for (const name of ['nginx.conf', 'Caddyfile']) {
    expect(fileOf(name)).toContain('# --allow-host db.example.org --set httpd/trusted_proxies=127.0.0.1,::1\n');
  }
  expect(createConfig({ httpd: { trusted_proxies: '127.0.0.1,::1' } }).get('httpd', 'trusted_proxies')).toBe(
    '127.0.0.1,::1',
  );
});

async function isInstalled(tool: string): Promise<boolean> {
  return run('sh', ['-c', `command -v ${tool}`]).then(
    () => true,
    () => false,
  );
}

const [hasSystemd, hasNginx, hasHaproxy, hasOpenssl] = await Promise.all(
  ['systemd-analyze', 'nginx', 'haproxy', 'openssl'].map(isInstalled),
);

/** Writes a certificate and its key to the folder for what tests leave. */
async function certify(): Promise<void> {
  const files = ['-out', join(scratch, 'fullchain.pem'), '-keyout', join(scratch, 'privkey.pem')];
  await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=db.example.org', ...files]);
}

describe.skipIf(!hasSystemd)('systemd', () => {
  test('accepts the unit', async () => {
    const unit = join(scratch, 'settee.service');
    // The command need not be installed here.
    writeFileSync(unit, fileOf('settee.service').replace('/usr/local/bin/settee', process.execPath));
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', unit]);
    expect(`${stdout}${stderr}`.split('\n').filter((line) => line.includes('settee.service'))).toEqual([]);
  });
});

describe.skipIf(!hasSystemd)('the sandbox of the unit', () => {
  test('leaves the service little of the machine', async () => {
    const unit = join(folder, 'settee.service');
    const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', unit]);
    const [, exposure = ''] = /Overall exposure level for settee\.service: ([\d.]+) OK/.exec(stdout) ?? [];
    expect(Number(exposure)).toBeGreaterThan(0);
    expect(Number(exposure)).toBeLessThanOrEqual(2);
  });
});

test('the unit lets the server read the addresses of the machine, which users may not name', () => {
  // Node asks for them by netlink, and fails without.
  expect(fileOf('settee.service')).toMatch(/^RestrictAddressFamilies=.*\bAF_NETLINK\b/m);
});

/** Keys of the Compose Specification that are used here. */
const COMPOSE_KEYS = {
  '': ['services', 'volumes'],
  services: [
    ...['build', 'image', 'restart', 'stop_grace_period', 'ports', 'volumes', 'profiles', 'environment', 'depends_on'],
    ...['healthcheck', 'read_only', 'tmpfs', 'cap_drop', 'security_opt', 'init'],
  ],
};

/** The maps of a file of YAML whose lists are on one line: keys with the keys above them, and texts of values. */
function entriesOf(text: string): { readonly path: readonly string[]; readonly value: string }[] {
  const path: string[] = [];
  return text.split('\n').flatMap((line) => {
    if (/^ *(#.*)?$/.test(line)) return [];
    const [, indent = '', key, value = ''] = /^((?: {2})*)([\w-]+):(?: (.*))?$/.exec(line) ?? [];
    if (key === undefined) throw new Error(`no key and value: ${line}`);
    path.length = indent.length / 2;
    path.push(key);
    return [{ path: [...path], value }];
  });
}

describe('the compose file', () => {
  const entries = entriesOf(fileOf('compose.yaml'));
  const textAt = (...path: string[]) => entries.find((entry) => entry.path.join('/') === path.join('/'))?.value;

  test('has keys of the Compose Specification alone, and names volumes and services that it has', () => {
    for (const { path } of entries) {
      if (path.length === 1) expect(COMPOSE_KEYS['']).toContain(path[0]);
      if (path.length === 3 && path[0] === 'services') expect(COMPOSE_KEYS.services).toContain(path[2]);
    }
    const volumes = entries.filter(({ path, value }) => path.length === 3 && path[2] === 'volumes' && value !== '');
    const named = volumes.map(({ value }) => String(JSON.parse(value)[0]).split(':')[0]);
    expect(named).toEqual(
      entries.filter(({ path }) => path.length === 2 && path[0] === 'volumes').map(({ path }) => path[1]),
    );
    expect(textAt('services', 'settee-on-postgres', 'depends_on', 'postgres')).toBe('{ condition: service_healthy }');
  });

  test.each(['settee', 'settee-on-postgres'])('%s can write to its volume alone, and gain no rights', (service) => {
    expect(textAt('services', service, 'read_only')).toBe('true');
    expect(textAt('services', service, 'tmpfs')).toBe('[/tmp]');
    expect(textAt('services', service, 'cap_drop')).toBe('[ALL]');
    expect(textAt('services', service, 'security_opt')).toBe('["no-new-privileges:true"]');
    expect(textAt('services', service, 'ports')).toMatch(/^\["127\.0\.0\.1:\d+:5984"\]$/);
  });
});

describe.skipIf(!hasNginx || !hasOpenssl)('nginx', () => {
  test.each(['nginx.conf', 'nginx-cluster.conf'])('accepts the configuration %s', async (name) => {
    await certify();
    const servers = fileOf(name)
      .replaceAll('/etc/letsencrypt/live/db.example.org', scratch)
      .replaceAll(/listen (\[::\]:)?(80|443)/g, 'listen 127.0.0.1:1$2')
      .replaceAll(/(listen 127\.0\.0\.1:\d+[^;]*;)\n\s*\1/g, '$1');
    const whole = join(scratch, 'nginx.conf');
    writeFileSync(
      whole,
      `error_log stderr;\npid ${join(scratch, 'nginx.pid')};\nevents {}\nhttp {\naccess_log off;\n${servers}\n}\n`,
    );
    const { stderr } = await run('nginx', ['-t', '-p', scratch, '-c', whole]);
    expect(stderr).toContain('test is successful');
  });
});

describe.skipIf(!hasHaproxy || !hasOpenssl)('HAProxy', () => {
  test('accepts the configuration', async () => {
    await certify();
    const parts = ['fullchain.pem', 'privkey.pem'].map((name) => readFileSync(join(scratch, name), 'utf8'));
    writeFileSync(join(scratch, 'db.example.org.pem'), parts.join(''));
    const whole = join(scratch, 'haproxy.cfg');
    writeFileSync(whole, fileOf('haproxy.cfg').replaceAll('/etc/haproxy', scratch));
    const { stdout } = await run('haproxy', ['-c', '-f', whole]);
    expect(stdout).toContain('Configuration file is valid');
  });
});

test('balancers ask for what the server answers, and send again only what is safe', () => {
  expect(fileOf('haproxy.cfg')).toContain('http-check send meth GET uri /_up ');
  expect(fileOf('haproxy.cfg')).toMatch(/^ {2}retry-on conn-failure$/m);
  const [, writes = ''] = /location @write \{([^}]*)\}/.exec(fileOf('nginx-cluster.conf')) ?? [];
  expect(writes).toContain('proxy_next_upstream off;');
  for (const name of ['haproxy.cfg', 'nginx-cluster.conf']) {
    expect(fileOf(name)).toContain('# --allow-host db.example.org --set httpd/trusted_proxies=10.0.0.10\n');
  }
});
