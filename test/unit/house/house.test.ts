import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { analyse, readSources, roomOf, type SourceFile } from './source-files.ts';

const map = readFileSync(join(import.meta.dirname, '../../../src/README.md'), 'utf8');
const sources = readSources();

/** Rows of the table between two comments of the map: the first cell without backquotes, the second as it is. */
function readTable(name: string): Map<string, string> {
  const [, text = ''] = new RegExp(`<!-- ${name}: .*?-->(.*?)<!-- end of the ${name} -->`, 's').exec(map) ?? [];
  const rows = [...text.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)];
  return new Map(rows.map(([, first = '', second = '']) => [first, second]));
}

interface Permission {
  readonly room: string;
  readonly contractOnly: boolean;
}

function permissionsOf(cell: string): Permission[] {
  if (cell === 'nothing') return [];
  return [...cell.matchAll(/`([^`]+)`( \(contract\))?/g)].map(([, room = '', contract]) => ({
    room,
    contractOnly: contract !== undefined,
  }));
}

const everywhere: Permission[] = [
  { room: 'shared', contractOnly: false },
  { room: 'errors', contractOnly: false },
];

const contracts = /(^|\/)(contract|page-store)\.ts$/;

function mayImport(table: Map<string, string>, from: string, to: string): boolean {
  const rooms = new Set([...table.keys(), ...everywhere.map(({ room }) => room)]);
  const source = roomOf(from, rooms);
  const target = roomOf(to, rooms);
  if (source === target) return true;
  // The two at the bottom: errors may use shared, and nothing else goes up.
  if (source === 'shared') return false;
  if (source === 'errors') return target === 'shared';
  const permissions = [...permissionsOf(table.get(source ?? '') ?? 'nothing'), ...everywhere];
  return permissions.some(({ room, contractOnly }) => room === target && (!contractOnly || contracts.test(to)));
}

const seesNode = (path: string) => /^(node|storage\/lmdb|vite)\//.test(path);
const seesPage = (path: string) => path.startsWith('client/');

/** Every set of files that can reach each other by imports of any kind, types included: Tarjan's algorithm. */
function findRings(files: readonly SourceFile[]): string[][] {
  const targets = new Map(files.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  const order = new Map<string, number>();
  const open: string[] = [];
  const rings: string[][] = [];
  const visit = (path: string): number => {
    let low = order.size;
    order.set(path, low);
    open.push(path);
    for (const target of targets.get(path) ?? []) {
      if (!targets.has(target)) continue;
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, order.get(target) ?? low);
    }
    if (low === order.get(path)) {
      const ring = open.splice(open.indexOf(path));
      if (ring.length > 1 || targets.get(path)?.includes(path)) rings.push(ring.sort());
    }
    return low;
  };
  for (const path of targets.keys()) if (!order.has(path)) visit(path);
  return rings.sort();
}

/** Every cycle of value imports, once, as its files in order. */
function findCycles(files: readonly SourceFile[]): string[][] {
  const targets = new Map(
    files.map((file) => [file.path, file.imports.filter((one) => one.isOurs && !one.isType).map((one) => one.target)]),
  );
  const done = new Set<string>();
  const cycles: string[][] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    const index = trail.indexOf(path);
    if (index >= 0) cycles.push([...trail.slice(index), path]);
    if (index >= 0 || done.has(path)) return;
    for (const target of targets.get(path) ?? []) walk(target, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) walk(path, []);
  return cycles;
}

describe('the map', () => {
  const table = readTable('import table');

  test('has a row for every folder, and no folder that is not there', () => {
    const rooms = sources.map(({ path }) => roomOf(path, table.keys()) ?? `no row for ${path}`);
    expect([...table.keys()].sort()).toEqual([...new Set(rooms)].sort());
  });

  test('tells truly who imports whom', () => {
    const found = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ isOurs, target }) => isOurs && target.endsWith('.ts') && !mayImport(table, path, target))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(found).toEqual([]);
  });

  test('tells truly who imports which package', () => {
    const packages = readTable('package table');
    const found = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ isOurs, target }) => !isOurs && !/^(node|virtual):/.test(target))
        .filter(({ target }) => !packages.get(target)?.includes(`\`${roomOf(path, table.keys())}\``))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(found).toEqual([]);
    for (const name of packages.keys()) {
      const isUsed = sources.some(({ imports }) => imports.some(({ target }) => target === name));
      expect(`${name}: ${isUsed ? 'used' : 'not used'}`).toBe(`${name}: used`);
    }
  });
});

describe('what a worker loads on first use', () => {
  const files = new Map(sources.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const reach = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const { isOurs, isType, isLazy, target } of files.get(path)?.imports ?? []) {
      if (isOurs && !isType && !isLazy) reach(target);
    }
  };
  reach('worker/main.ts');

  test('is not in its own file', () => {
    expect(reached).toContain('deferred/deferred.ts');
    const later =
      /^((http\/)?(views|design|find|administration|replicator)|query-server)\/|^deferred\/deferred-code\.ts$/;
    expect([...reached].filter((path) => later.test(path)).sort()).toEqual([
      // Judging writes begins with the question whether there is anybody to be asked.
      'design/write-validation.ts',
      // A worker for functions is begun while what uses it is loaded.
      'query-server/isolates/guarded-names.ts',
      'query-server/isolates/memory-shares.ts',
    ]);
  });
});

describe('every file', () => {
  test('ends its relative imports in .ts or .json, and leads to a file that is there', () => {
    const paths = new Set(sources.map(({ path }) => path));
    const found = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ isOurs, target }) => isOurs && !target.endsWith('.json') && !paths.has(target))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(found).toEqual([]);
  });

  test('is in no cycle of value imports', () => {
    expect(findCycles(sources)).toEqual([]);
  });

  test('is in no ring of imports, types included', () => {
    expect(findRings(sources)).toEqual([]);
  });

  test('shares its folder with at most 19 others', () => {
    const counts = new Map<string, number>();
    for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 20)).toEqual([]);
  });

  test('has at most 400 lines', () => {
    expect(sources.filter(({ lines }) => lines > 400).map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
  });

  test('does without any, ! and switched-off checks', () => {
    expect(sources.flatMap(({ path, lapses }) => lapses.map((lapse) => `${path}: ${lapse}`))).toEqual([]);
  });

  test('does without the page: no window, document or localStorage, but for client/', () => {
    const found = sources
      .filter(({ path }) => !seesPage(path))
      .flatMap(({ path, globals }) =>
        ['window', 'document', 'localStorage', 'sessionStorage']
          .filter((name) => globals.has(name))
          .map((name) => `${path}: ${name}`),
      );
    expect(found).toEqual([]);
  });

  test('does without Node, but for node/, storage/lmdb/ and vite/', () => {
    const found = sources
      .filter(({ path }) => !seesNode(path))
      .flatMap(({ path, globals, imports }) => [
        ...['process', 'Buffer', '__dirname', 'require', 'global', 'setImmediate']
          .filter((name) => globals.has(name))
          .map((name) => `${path}: ${name}`),
        ...imports.filter(({ target }) => target.startsWith('node:')).map(({ target }) => `${path}: ${target}`),
      ]);
    expect(found).toEqual([]);
  });

  test('is named in kebab case', () => {
    const found = sources.map(({ path }) => path).filter((path) => !/^([a-z0-9-]+\/)*[a-z0-9-]+(\.d)?\.ts$/.test(path));
    expect(found).toEqual([]);
  });
});

/** The rules above pass while nothing is found, so what finds must be shown to find. */
describe('the rules themselves', () => {
  test('see imports of every kind', () => {
    const { imports } = analyse(
      'http/x.ts',
      `import type { A } from '../a.ts';
       import { type B } from '../b.ts';
       import { c, type D } from './c.ts';
       import './side.ts';
       export { e } from '../database/e.ts';
       export type { F } from 'f';
       export * from 'node:fs';
       const lazy = () => import('./lazy.ts');`,
    );
    expect(imports.map(({ target, isType }) => `${target}${isType ? ' (type)' : ''}`)).toEqual([
      'a.ts (type)',
      'b.ts (type)',
      'http/c.ts',
      'http/side.ts',
      'database/e.ts',
      'f (type)',
      'node:fs',
      'http/lazy.ts',
    ]);
  });

  test('see globals, but not members, keys, or names of their own', () => {
    const seen = (text: string) => [...analyse('x.ts', text).globals];
    expect(seen('window.open(); const y = { document };')).toEqual(['window', 'document']);
    expect(seen('if (typeof process === "object") Buffer.from("");')).toEqual(['process', 'Buffer']);
    expect(seen('const document = 1; f(document); function f(window: number) { return window; }')).toEqual([]);
    expect(seen('const a = 1; a.process; ({ window: a, localStorage() {} });')).toEqual([]);
    expect(seen('const { window, b: [document] } = g; for (const process of h) process;')).toEqual(['g', 'h']);
    expect(seen('const f = ({ document }: T, [window]: U, ...process: V) => [document, window, process];')).toEqual(
      expect.not.arrayContaining(['document', 'window', 'process']),
    );
  });

  test('see any, ! and switched-off checks', () => {
    const text = 'let a: any;\nconst b = c!;\n// @ts-ignore\nlet d: Array<any> = e as any;\nif (!a) d;';
    expect(analyse('x.ts', text).lapses).toEqual([
      'any in line 1',
      '! in line 2',
      'any in line 4',
      'any in line 4',
      'a switched-off check in line 3',
    ]);
  });

  test('see cycles', () => {
    const file = (path: string, ...targets: string[]) =>
      analyse(path, targets.map((target) => `import './${target}';`).join('\n'));
    expect(
      findCycles([file('a.ts', 'b.ts'), file('b.ts', 'c.ts', 'd.ts'), file('c.ts', 'a.ts'), file('d.ts')]),
    ).toEqual([['a.ts', 'b.ts', 'c.ts', 'a.ts']]);
  });

  test('see rings, also of types alone', () => {
    const file = (path: string, ...targets: string[]) =>
      analyse(path, targets.map((target) => `import type { A } from './${target}';`).join('\n'));
    expect(
      findRings([
        file('a.ts', 'b.ts'),
        file('b.ts', 'c.ts', 'd.ts'),
        file('c.ts', 'a.ts'),
        file('d.ts', 'e.ts'),
        file('e.ts', 'd.ts'),
        file('f.ts', 'a.ts'),
        file('g.ts', 'g.ts'),
      ]),
    ).toEqual([['a.ts', 'b.ts', 'c.ts'], ['d.ts', 'e.ts'], ['g.ts']]);
  });

  test('see what the table forbids', () => {
    const table = new Map([
      ['http', '`registry`, `storage` (contract)'],
      ['http/request', '`registry`'],
      ['registry', 'nothing'],
      ['storage', 'nothing'],
      ['storage/lmdb', '`storage`'],
    ]);
    expect(mayImport(table, 'http/handlers/x.ts', 'registry/registry.ts')).toBe(true);
    expect(mayImport(table, 'http/handlers/x.ts', 'http/x.ts')).toBe(true);
    expect(mayImport(table, 'http/request/x.ts', 'http/request/y.ts')).toBe(true);
    expect(mayImport(table, 'http/request/x.ts', 'http/x.ts')).toBe(false);
    expect(mayImport(table, 'http/x.ts', 'http/request/x.ts')).toBe(false);
    expect(mayImport(table, 'http/request/x.ts', 'storage/page-store.ts')).toBe(false);
    expect(mayImport(table, 'http/x.ts', 'shared/assert.ts')).toBe(true);
    expect(mayImport(table, 'http/x.ts', 'storage/page-store.ts')).toBe(true);
    expect(mayImport(table, 'http/x.ts', 'storage/file-life.ts')).toBe(false);
    expect(mayImport(table, 'http/x.ts', 'storage/lmdb/folder.ts')).toBe(false);
    expect(mayImport(table, 'http/x.ts', 'btree/tree.ts')).toBe(false);
    expect(mayImport(table, 'shared/x.ts', 'errors/database-error.ts')).toBe(false);
    expect(mayImport(table, 'errors/x.ts', 'shared/assert.ts')).toBe(true);
  });
});
