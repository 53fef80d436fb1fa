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

/** A file or a folder that may be imported. */
interface Permission {
  readonly path: string;
  readonly contractOnly: boolean;
}

function permissionsOf(cell: string): Permission[] {
  return [...cell.matchAll(/`([^`]+)`( \(contract\))?/g)].map(([, path = '', contract]) => ({
    path,
    contractOnly: contract !== undefined,
  }));
}

const contracts = /(^|\/)(contract|page-store)\.ts$/;

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function mayImport(table: Map<string, string>, from: string, to: string): boolean {
  const [source, target] = [roomOf(from), roomOf(to)];
  if (source === target) return true;
  if (target === 'base') return true;
  const permissions = permissionsOf(table.get(source) ?? '');
  return permissions.some(({ path, contractOnly }) => isIn(to, path) && (!contractOnly || contracts.test(to)));
}

/** Whether the order of their room lets one file import another one. */
function isInOrder(table: Map<string, string>, from: string, to: string): boolean {
  const [source, target] = [folderOf(from), folderOf(to)];
  if (roomOf(from) !== roomOf(to) || source === target || contracts.test(to)) return true;
  const levels = (table.get(roomOf(from)) ?? '').split(' < ');
  const levelOf = (folder: string) => levels.findIndex((level) => level.includes(`\`${folder}\``));
  return levelOf(target) >= 0 && levelOf(target) < levelOf(source);
}

/** The folder within its room, `files` where there is none. */
function folderOf(path: string): string {
  const [, folder = '', rest] = path.split('/');
  return rest === undefined ? 'files' : folder;
}

const seesNode = (path: string) => /^(node|storage\/(lmdb|postgres)|packages\/(vite|build))\//.test(path);
const seesPage = (path: string) => /^(browser\/client|admin)\//.test(path);

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

describe('the map of the source', () => {
  const table = readTable('import table');

  test('has a row for every room, and no room that is not there', () => {
    const rooms = new Set(sources.map(({ path }) => roomOf(path)));
    expect([...table.keys()].sort()).toEqual([...rooms].sort());
  });

  test('lists exactly who imports whom', () => {
    const found = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ isOurs, target }) => isOurs && /\.tsx?$/.test(target) && !mayImport(table, path, target))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(found).toEqual([]);
  });

  test('lists the folders of a room in the order of their imports', () => {
    const order = readTable('order table');
    const found = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ isOurs, target }) => isOurs && /\.tsx?$/.test(target) && !isInOrder(order, path, target))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(found).toEqual([]);
  });

  test('lists exactly who imports which package', () => {
    const packages = readTable('package table');
    const found = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ isOurs, target }) => !isOurs && !/^(node|virtual):/.test(target))
        .filter(({ target }) => !permissionsOf(packages.get(target) ?? '').some((allowed) => isIn(path, allowed.path)))
        .map(({ target }) => `${path} imports ${target}`),
    );
    expect(found).toEqual([]);
    for (const name of packages.keys()) {
      const isUsed = sources.some(({ imports }) => imports.some(({ target }) => target === name));
      expect(`${name}: ${isUsed ? 'used' : 'not used'}`).toBe(`${name}: used`);
    }
  });
});

describe('code that a worker loads on first use', () => {
  const files = new Map(sources.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const reach = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const { isOurs, isType, isLazy, target } of files.get(path)?.imports ?? []) {
      if (isOurs && !isType && !isLazy) reach(target);
    }
  };
  reach('browser/worker/main.ts');

  test("is not in the worker's own file", () => {
    expect(reached).toContain('core/deferred/deferred.ts');
    const later =
      /^(queries|replication|http\/queries|http\/server\/administration)\/|^core\/deferred\/deferred-code\.ts$/;
    expect([...reached].filter((path) => later.test(path)).sort()).toEqual([
      // Judging writes begins with the question whether there is anybody to be asked.
      'queries/design/write-validation.ts',
      // A worker for functions is begun while what uses it is loaded.
      'queries/sandbox/isolates/guarded-names.ts',
      'queries/sandbox/isolates/memory-shares.ts',
    ]);
  });
});

describe('every file', () => {
  test('ends its relative imports in .ts, .tsx, .css or .json, and leads to existing files', () => {
    const paths = new Set(sources.map(({ path }) => path));
    const found = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ isOurs, target }) => isOurs && !/\.(json|css)$/.test(target) && !paths.has(target))
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

  test('has no any, ! or switched-off checks', () => {
    expect(sources.flatMap(({ path, lapses }) => lapses.map((lapse) => `${path}: ${lapse}`))).toEqual([]);
  });

  test('uses no window, document or localStorage, except in browser/client/', () => {
    const found = sources
      .filter(({ path }) => !seesPage(path))
      .flatMap(({ path, globals }) =>
        ['window', 'document', 'localStorage', 'sessionStorage']
          .filter((name) => globals.has(name))
          .map((name) => `${path}: ${name}`),
      );
    expect(found).toEqual([]);
  });

  test('uses no Node API, except in node/, storage/lmdb/, storage/postgres/, packages/vite/ and packages/build/', () => {
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
    const found = sources
      .map(({ path }) => path)
      .filter((path) => !/^([a-z0-9-]+\/)*[a-z0-9-]+(\.d)?\.tsx?$/.test(path));
    expect(found).toEqual([]);
  });
});

/** The rules above pass while nothing is found, so what finds must be shown to find. */
describe('the rules of the house test', () => {
  test('find imports of every kind', () => {
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

  test('find globals, but not members, keys or local names', () => {
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

  test('find any, ! and switched-off checks', () => {
    const text = 'let a: any;\nconst b = c!;\n// @ts-ignore\nlet d: Array<any> = e as any;\nif (!a) d;';
    expect(analyse('x.ts', text).lapses).toEqual([
      'any in line 1',
      '! in line 2',
      'any in line 4',
      'any in line 4',
      'a switched-off check in line 3',
    ]);
  });

  test('find cycles', () => {
    const file = (path: string, ...targets: string[]) =>
      analyse(path, targets.map((target) => `import './${target}';`).join('\n'));
    expect(
      findCycles([file('a.ts', 'b.ts'), file('b.ts', 'c.ts', 'd.ts'), file('c.ts', 'a.ts'), file('d.ts')]),
    ).toEqual([['a.ts', 'b.ts', 'c.ts', 'a.ts']]);
  });

  test('find rings, also of types only', () => {
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

  test('find imports that the table forbids', () => {
    const table = new Map([
      ['http', '`database` (contract), `database/documents`'],
      ['database', '`storage` (contract), `storage/btree`'],
      ['base', 'nothing'],
    ]);
    expect(mayImport(table, 'http/documents/x.ts', 'http/x.ts')).toBe(true);
    expect(mayImport(table, 'http/x.ts', 'base/shared/assert.ts')).toBe(true);
    expect(mayImport(table, 'http/x.ts', 'database/store/contract.ts')).toBe(true);
    expect(mayImport(table, 'http/x.ts', 'database/documents/outgoing.ts')).toBe(true);
    expect(mayImport(table, 'http/x.ts', 'database/store/writer.ts')).toBe(false);
    expect(mayImport(table, 'http/x.ts', 'storage/page-store.ts')).toBe(false);
    expect(mayImport(table, 'database/store/x.ts', 'storage/page-store.ts')).toBe(true);
    expect(mayImport(table, 'database/store/x.ts', 'storage/btree/tree.ts')).toBe(true);
    expect(mayImport(table, 'database/store/x.ts', 'storage/lmdb/folder.ts')).toBe(false);
    expect(mayImport(table, 'base/shared/x.ts', 'database/store/contract.ts')).toBe(false);
  });

  test('find imports that the order forbids', () => {
    const table = new Map([['http', '`request` < `documents`, `database` < `files`']]);
    expect(isInOrder(table, 'http/documents/lists/x.ts', 'http/request/x.ts')).toBe(true);
    expect(isInOrder(table, 'http/documents/lists/x.ts', 'http/documents/x.ts')).toBe(true);
    expect(isInOrder(table, 'http/x.ts', 'http/documents/x.ts')).toBe(true);
    expect(isInOrder(table, 'http/documents/x.ts', 'database/store/x.ts')).toBe(true);
    expect(isInOrder(table, 'http/request/x.ts', 'http/documents/x.ts')).toBe(false);
    expect(isInOrder(table, 'http/documents/x.ts', 'http/database/x.ts')).toBe(false);
    expect(isInOrder(table, 'http/request/x.ts', 'http/documents/contract.ts')).toBe(true);
    expect(isInOrder(table, 'http/documents/x.ts', 'http/elsewhere/x.ts')).toBe(false);
  });
});
