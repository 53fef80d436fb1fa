import { describe, expect, test } from 'vitest';
import type { Table } from '../../../src/http/resources.ts';
import { createRoutes } from '../../../src/http/routes.ts';
import { ACCESS_TABLE } from '../../conformance/http/accounts/access-matrix.ts';

const never = (): never => {
  throw new Error('no request is made here');
};
const routes = createRoutes({
  ...{ accounts: never, views: never, design: never },
  ...{ find: never, replicator: never, administration: never },
});

/** `METHOD path` of each row, without its query. */
const rows = ACCESS_TABLE.trim()
  .split('\n')
  .map((row) => row.trim().split(/[ ?]+/).slice(0, 2).join(' '));

/** Methods and paths of the routes that no row has. */
function missing<H>(table: Table<H>, prefix: string): string[] {
  return [...table].flatMap(([path, { actions }]) =>
    [...actions.keys()]
      .map((method) => `${method} ${path === '' && prefix !== '/' ? prefix.slice(0, -1) : prefix + path}`)
      .filter((route) => !rows.some((row) => isRowOf(row, route))),
  );
}

function isRowOf(row: string, route: string): boolean {
  const open = route.endsWith('/*') ? route.slice(0, -2) : undefined;
  return open === undefined ? row === route : row === open || row.startsWith(`${open}/`);
}

describe('the access matrix has a row for each method of each route', () => {
  test('of the server', () => {
    expect(missing(routes.server, '/')).toEqual([]);
  });

  test('of a database', () => {
    expect(missing(routes.database, '/{db}/')).toEqual([]);
  });

  test('of a design document', () => {
    expect(missing(routes.design, '/{db}/_design/d/')).toEqual([]);
  });
});
