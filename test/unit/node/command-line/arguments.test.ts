import { availableParallelism } from 'node:os';
import { describe, expect, test } from 'vitest';
import { parseCommand } from '../../../../src/node/command-line/arguments.ts';
import { UsageError } from '../../../../src/node/terminal/usage-error.ts';

const parse = (line: string, environment: Record<string, string> = {}) =>
  parseCommand(line.split(' ').filter(Boolean), environment);

describe('serve', () => {
  const defaults = {
    host: undefined,
    allowedHosts: [],
    port: undefined,
    dataFolder: './data',
    memory: false,
    withoutAdmin: false,
    logLevel: undefined,
    configFile: undefined,
    tlsCert: undefined,
    tlsKey: undefined,
    demoPort: 5985,
    config: {},
  };

  test('is the default command, with its defaults', () => {
    expect(parse('')).toEqual({ name: 'serve', options: defaults });
    expect(parse('serve')).toEqual({ name: 'serve', options: defaults });
    expect(parse('--port 8080')).toEqual({ name: 'serve', options: { ...defaults, port: 8080 } });
  });

  test('accepts all its options', () => {
    expect(
      parse(
        'serve -p 80 --host ::1 --allow-host a.example --allow-host b -d /x --log-level debug --config /x.ini --tls-cert c.pem --tls-key k.pem --set svc/max_dbs_open=5 --set app/a=b=c --set app/x=',
      ),
    ).toEqual({
      name: 'serve',
      options: {
        host: '::1',
        allowedHosts: ['a.example', 'b'],
        port: 80,
        dataFolder: '/x',
        memory: false,
        withoutAdmin: false,
        logLevel: 'debug',
        configFile: '/x.ini',
        tlsCert: 'c.pem',
        tlsKey: 'k.pem',
        demoPort: 5985,
        config: { svc: { max_dbs_open: '5' }, app: { a: 'b=c', x: '' } },
      },
    });
    expect(parse('--memory')).toMatchObject({ options: { memory: true } });
    expect(parse('--workers 4')).toMatchObject({ options: { workers: 4 } });
    expect(parse('', { SETTEE_WORKERS: '3' })).toMatchObject({ options: { workers: 3 } });
    expect(parse('--workers auto')).toMatchObject({ options: { workers: Math.min(64, availableParallelism()) } });
    expect(parse('--workers 1 --memory')).toMatchObject({ options: { workers: 1, memory: true } });
    const storage = 'postgres://db.example/settee';
    expect(parse(`--cluster --storage ${storage}`)).toMatchObject({ options: { cluster: true, storage } });
    expect(parse(`--storage ${storage}`, { SETTEE_CLUSTER: '1' })).toMatchObject({ options: { cluster: true } });
    expect(() => parse('--cluster')).toThrow('name it with --storage');
    expect(parse('--preset pouchdb')).toMatchObject({ options: { preset: 'pouchdb' } });
  });

  test.each([
    ['jwt_keys/hmac:_default=aGVsbG8=', 'jwt_keys', 'hmac:_default', 'aGVsbG8='],
    ['cors:example.com:8080/origins=https://a.example', 'cors:example.com:8080', 'origins', 'https://a.example'],
    ['cors:http://example.com/origins=*', 'cors:http://example.com', 'origins', '*'],
    ['cors:[::1]:5984/max_age=5', 'cors:[::1]:5984', 'max_age', '5'],
    ['vhosts/example.com:5984=/db', 'vhosts', 'example.com:5984', '/db'],
    [
      'vhosts/*.example.com/shop=/db/_design/shop/_rewrite',
      'vhosts',
      '*.example.com/shop',
      '/db/_design/shop/_rewrite',
    ],
    ['admins/ana.b@example.com=pass=word/1', 'admins', 'ana.b@example.com', 'pass=word/1'],
    ['oauth_consumer_secrets/a b=x', 'oauth_consumer_secrets', 'a b', 'x'],
    ['app:shop/a:b.c=', 'app:shop', 'a:b.c', ''],
    ['chttpd/require_valid_user=true', 'chttpd', 'require_valid_user', 'true'],
    ['httpd/WWW-Authenticate=Basic realm="x"', 'httpd', 'WWW-Authenticate', 'Basic realm="x"'],
  ])('accepts --set %s', (text, section, key, value) => {
    const command = parseCommand(['--set', text], {});
    expect(command).toMatchObject({ options: { config: { [section]: { [key]: value } } } });
  });

  test('puts the demo on any free port if the server is on one, on a given port, or leaves it out', () => {
    expect(parse('--port 0')).toEqual({ name: 'serve', options: { ...defaults, port: 0, demoPort: 0 } });
    expect(parse('--demo-port 7000')).toEqual({ name: 'serve', options: { ...defaults, demoPort: 7000 } });
    expect(parse('--no-demo')).toEqual({ name: 'serve', options: { ...defaults, demoPort: undefined } });
  });

  test('reads port, host and folder from the environment if the command line has none', () => {
    const environment = { SETTEE_PORT: '6000', SETTEE_HOST: 'localhost', SETTEE_DATA: '/env' };
    expect(parse('', environment)).toMatchObject({ options: { port: 6000, host: 'localhost', dataFolder: '/env' } });
    expect(parse('', { SETTEE_PRESET: 'pouchdb' })).toMatchObject({ options: { preset: 'pouchdb' } });
    expect(parse('--port 7000 --host ::1 --data /own', environment)).toMatchObject({
      options: { port: 7000, host: '::1', dataFolder: '/own' },
    });
  });

  test.each([
    ['--port 65536', '--port is "65536"; it must be a whole number from 0 to 65535.'],
    ['--port http', '--port is "http"; it must be a whole number from 0 to 65535.'],
    ['--demo-port -1', "Option '--demo-port' argument is ambiguous."],
    ['--demo-port 65536', '--demo-port is "65536"; it must be a whole number from 0 to 65535.'],
    ['--workers some', '--workers is "some"; it must be auto, or a whole number from 1 to 64.'],
    ['--workers 65', '--workers is "65"; it must be a whole number from 1 to 64.'],
    ['--workers 0', '--workers is "0"; it must be a whole number from 1 to 64.'],
    [
      '--workers 2 --memory',
      "Several processes can't share what one of them keeps in memory; leave out --workers or --memory.",
    ],
    ['--demo-port 1 --no-demo', '--no-demo serves no demo; leave out --demo-port or --no-demo.'],
    ['--port 1e3', '--port is "1e3"; it must be a whole number from 0 to 65535.'],
    ['--log-level loud', '--log-level is "loud"; it must be one of none, error, warning, info, debug, request.'],
    ['--set nonsense', '--set is "nonsense"; it must be SECTION/KEY=VALUE, as in svc/max_dbs_open=200.'],
    ['--memory --data x', '--memory uses no data folder; leave out --data or --memory.'],
    ['--preset obsidian', '--preset is "obsidian"; it must be one of obsidian-livesync, pouchdb.'],
    ['--prot 1', "Unknown option '--prot'."],
    [
      '--set uuids/algorithm=bogus',
      'Setting uuids/algorithm is "bogus"; it must be one of sequential, random, utc_random, utc_id.',
    ],
    ['--set svc/max_dbs_open=many', 'Setting svc/max_dbs_open is "many"; it must be a whole number from 0 up.'],
    [
      '--set chttpd/require_valid_usr=true',
      'There is no setting chttpd/require_valid_usr. The nearest is chttpd/require_valid_user. An app keeps its own settings in the section app or app:NAME.',
    ],
    [
      '--set __proto__/x=1',
      'There is no setting __proto__/x. An app keeps its own settings in the section app or app:NAME.',
    ],
    [
      '--set couchdb/single_node=true',
      'Setting couchdb/single_node has no effect here: the service is always a single node.',
    ],
    [
      '--set svc/max_dbs_open=1 --set couchdb/max_dbs_open=2',
      'Setting svc/max_dbs_open is given under two names with different values, svc/max_dbs_open and couchdb/max_dbs_open. Set only one of them.',
    ],
    ['--set httpd/max_connections=-1', 'Setting httpd/max_connections is "-1"; it must be a whole number from 0 up.'],
    [
      '--allow-host http://a/',
      'The allowed host "http://a/" is not a host name; write it without scheme, port and path, as in db.example.org.',
    ],
    ['--config=', '--config is empty; name a file.'],
    ['serve here', '"here" is one argument too many.'],
  ])('refuses "%s"', (line, message) => {
    expect(() => parse(line)).toThrow(new UsageError(message, 'serve'));
  });

  test("doesn't run for an unknown command", () => {
    expect(() => parse('start')).toThrow(
      new UsageError(
        'There is no command "start". The commands are: serve, import, export, replicate, verify, compact, backup, restore, copy, admin.',
      ),
    );
  });

  test('names an invalid environment variable', () => {
    expect(() => parse('', { SETTEE_PORT: 'x' })).toThrow('SETTEE_PORT is "x"');
    expect(() => parse('', { SETTEE_CONFIG: '' })).toThrow('SETTEE_CONFIG is empty');
  });
});

describe('import', () => {
  test('has its defaults', () => {
    expect(parse('import http://h/db file.json')).toEqual({
      name: 'import',
      url: 'http://h/db',
      file: 'file.json',
      create: false,
      idMember: undefined,
      newEdits: true,
      format: 'auto',
      batchSize: 1000,
      refusedFile: undefined,
    });
  });

  test('accepts all its options, before and after its arguments', () => {
    expect(
      parse(
        'import --create http://h/db - --id cca3 --new-edits false --format lines --batch-size 7 --refused r.json --attachments f',
      ),
    ).toEqual({
      name: 'import',
      url: 'http://h/db',
      file: '-',
      create: true,
      idMember: 'cca3',
      newEdits: false,
      format: 'lines',
      batchSize: 7,
      refusedFile: 'r.json',
      attachments: 'f',
    });
  });

  test.each([
    ['import http://h/db', 'Name the database and the file: settee import URL FILE'],
    ['import a b c', '"c" is one argument too many.'],
    ['import a b --batch-size 0', '--batch-size is "0"; it must be a whole number from 1 to 100000.'],
    ['import a b --new-edits no', '--new-edits is "no"; it must be one of true, false.'],
    ['import a b --attachments=', '--attachments is empty; name a folder.'],
    ['import a b --attachments', "Option '--attachments <value>' argument missing."],
    ['import a b --format csv', '--format is "csv"; it must be one of auto, array, lines, docs, rows.'],
  ])('refuses "%s"', (line, message) => {
    expect(() => parse(line)).toThrow(new UsageError(message, 'import'));
  });
});

describe('the other commands', () => {
  test('export is parsed', () => {
    expect(parse('export http://h/db')).toEqual({ name: 'export', url: 'http://h/db', file: '-', format: 'lines' });
    expect(parse('export http://h/db f.gz --format array')).toEqual({
      name: 'export',
      url: 'http://h/db',
      file: 'f.gz',
      format: 'array',
    });
    expect(parse('export http://h/db --attachments f')).toMatchObject({ file: '-', attachments: 'f' });
    expect(() => parse('export http://h/db --attachments=')).toThrow('--attachments is empty; name a folder.');
    expect(() => parse('export')).toThrow('Name the database: settee export URL [FILE]');
  });

  test('verify, backup and restore are parsed', () => {
    expect(parse('verify a b --data /d')).toEqual({
      name: 'verify',
      dataFolder: '/d',
      databases: ['a', 'b'],
      repair: false,
    });
    expect(parse('verify --repair', { SETTEE_DATA: '/e' })).toEqual({
      name: 'verify',
      dataFolder: '/e',
      databases: [],
      repair: true,
    });
    expect(parse('backup /t')).toEqual({ name: 'backup', dataFolder: './data', target: '/t' });
    expect(parse('restore /s --data /d')).toEqual({ name: 'restore', source: '/s', dataFolder: '/d' });
    expect(() => parse('backup')).toThrow('Name the folder for the backup');
    expect(() => parse('restore /s', { SETTEE_DATA: '/e' })).toThrow('Name both places');
  });

  test('storage is named by a flag, or else by the environment, which a folder overrides', () => {
    const environment = { SETTEE_STORAGE: 'postgres://e/db' };
    for (const line of ['verify', 'compact', 'backup /t', 'replicate a b', 'admin add ada']) {
      expect(parse(line, environment)).toMatchObject({ storage: 'postgres://e/db' });
      expect(parse(`${line} --storage postgres://f/db`, environment)).toMatchObject({ storage: 'postgres://f/db' });
      expect(parse(`${line} --data /d`, environment)).toMatchObject({ dataFolder: '/d', storage: undefined });
      expect(() => parse(`${line} --data /d --storage postgres://f/db`)).toThrow('leave out --data or --storage');
      expect(() => parse(`${line} --storage mysql://f/db`)).toThrow('must be a URL that begins with postgres://');
    }
    expect(parse('restore /s --storage postgres://f/db')).toMatchObject({ storage: 'postgres://f/db' });
    expect(() => parse('restore /s', environment)).toThrow('Name both places');
  });

  test('copy takes two places, of which one may come from the environment', () => {
    const folder = { dataFolder: '/d', storage: undefined };
    const storage = { dataFolder: '', storage: 'postgres://e/db' };
    const environment = { SETTEE_STORAGE: 'postgres://e/db' };
    const rest = { name: 'copy', databases: [], replace: false };
    expect(parse('copy --from /d --to postgres://e/db')).toEqual({ ...rest, from: folder, to: storage });
    expect(parse('copy --from /d', environment)).toEqual({ ...rest, from: folder, to: storage });
    expect(parse('copy --to /d', environment)).toEqual({ ...rest, from: storage, to: folder });
    expect(parse('copy a --from /d --to /d --replace', environment)).toEqual({
      ...{ name: 'copy', databases: ['a'], replace: true },
      ...{ from: folder, to: folder },
    });
    expect(() => parse('copy', environment)).toThrow('Name both places');
    expect(() => parse('copy --from http://h/db --to /d')).toThrow('use settee replicate');
  });

  test('help and version are recognized anywhere', () => {
    expect(parse('--help')).toEqual({ name: 'help', topic: undefined });
    expect(parse('help')).toEqual({ name: 'help', topic: undefined });
    expect(parse('help import')).toEqual({ name: 'help', topic: 'import' });
    for (const command of ['serve', 'import', 'export', 'verify', 'backup', 'restore']) {
      expect(parse(`${command} --help`)).toEqual({ name: 'help', topic: command });
      expect(parse(`${command} x -h`)).toEqual({ name: 'help', topic: command });
      expect(parse(`${command} --version`)).toEqual({ name: 'version' });
    }
    expect(parse('--port 0 --help')).toEqual({ name: 'help', topic: 'serve' });
    expect(parse('-v')).toEqual({ name: 'version' });
    expect(parse('--version')).toEqual({ name: 'version' });
  });
});
