import { describe, expect, test } from 'vitest';
import { atOnce } from '../../../../../src/base/shared/turn.ts';
import { type Rewritten, rewrite } from '../../../../../src/http/queries/design/rewrite-rules.ts';

function rewritten(rule: object | readonly object[], path: string, search = '', method = 'GET'): Rewritten {
  const rules = Array.isArray(rule) ? rule : [rule];
  const segments = path === '' ? [] : path.split('/');
  return atOnce(rewrite(rules, { method, path: segments, query: new URLSearchParams(search) }, { isSecure: true }));
}

describe('a rewrite rule', () => {
  test.each([
    ['a/b', 'a/b', ['x']],
    ['/a/b/', 'a/b', ['x']],
    ['', '', ['x']],
    ['*', '', ['x']],
    ['*', 'a/b', ['x']],
    ['a/*', 'a', ['x']],
    ['a/*', 'a/b/c', ['x']],
    [':one', 'a', ['x']],
  ])('from %s matches %s', (from, path, expected) => {
    expect(rewritten({ from, to: 'x' }, path).path).toEqual(expected);
  });

  test.each([
    ['a', 'b'],
    ['a', 'a/b'],
    ['a/b', 'a'],
    [':one', ''],
    [':one/b', 'a/c'],
    ['*/b', 'a/b/c'],
  ])("from %s doesn't match %s", (from, path) => {
    expect(() => rewritten({ from, to: 'x' }, path)).toThrow(
      expect.objectContaining({ code: 'not_found', reason: 'missing' }),
    );
  });

  test('without from matches everything', () => {
    expect(rewritten({ to: '_show/x/*' }, 'a/b').path).toEqual(['_show', 'x', 'a', 'b']);
  });

  test('matches its own method only', () => {
    const rules = [
      { from: 'a', to: 'post', method: 'POST' },
      { from: 'a', to: 'any' },
    ];
    expect(rewritten(rules, 'a').path).toEqual(['any']);
    expect(rewritten(rules, 'a', '', 'POST').path).toEqual(['post']);
  });
});

describe('a rewritten address', () => {
  test('has variables and the star in the path', () => {
    expect(rewritten({ from: ':a/x/*', to: 'y/:a/*/end' }, '1/x/2/3').path).toEqual(['y', '1', '2', '3', 'end']);
    expect(rewritten({ from: 'x', to: '../../:id' }, 'x', 'id=d1').path).toEqual(['..', '..', 'd1']);
    expect(rewritten({ from: 'x', to: '_show/:unbound' }, 'x').path).toEqual(['_show', ':unbound']);
  });

  test("keeps the request's query, overridden by the path's variables, and by the rule's query", () => {
    const rule = { from: ':a', to: 'x', query: { b: 'rule', c: ':a' } };
    const { search } = rewritten(rule, 'path', 'a=query&b=query&d=query');
    expect(Object.fromEntries(new URLSearchParams(search))).toEqual({ a: 'path', b: 'rule', c: 'path', d: 'query' });
  });

  test('has keys as JSON, in formats if they are named', () => {
    const rule = {
      from: ':n/:flag/:text',
      to: 'x',
      query: { startkey: [':n', ':text'], endkey: [':n', {}], key: ':flag', limit: 3, other: ':n', keys: ['a', 1] },
      formats: { n: 'int', flag: 'bool' },
    };
    const parameters = Object.fromEntries(new URLSearchParams(rewritten(rule, '7/TRUE/7').search));
    expect(parameters).toEqual({
      n: '7',
      flag: 'TRUE',
      text: '7',
      startkey: '[7,"7"]',
      endkey: '[7,{}]',
      key: 'true',
      limit: '3',
      other: '7',
      keys: '["a",1]',
    });
  });

  test("keeps a value as text that doesn't match its format", () => {
    const rule = { from: ':n', to: 'x', query: { key: ':n' }, formats: { n: 'int' } };
    expect(new URLSearchParams(rewritten(rule, 'many').search).get('key')).toBe('"many"');
  });

  test('can have the star as a value', () => {
    const { search } = rewritten({ from: 'a/*', to: 'x', query: { rest: '*', key: ['*'] } }, 'a/b/c');
    expect(Object.fromEntries(new URLSearchParams(search))).toEqual({ rest: 'b/c', key: '["b/c"]' });
  });
});

describe('rewrite rules', () => {
  const request = { method: 'GET', path: ['a'], query: [] };

  test.each([
    [undefined, 'rewrite_error', 'Invalid path.'],
    ['text', 'rewrite_rules_error', 'Rewrite rules are a String. They must be a JSON Array.'],
    [{}, 'rewrite_rules_error', 'Rewrite rules must be a JSON Array.'],
    [[7], 'rewrite_rules_error', 'A rewrite rule must be a JSON object with a member "to".'],
    [
      [{ to: 'x', query: { key: deep() } }],
      'rewrite_rules_error',
      'A rewrite rule is nested too deeply. Give its members fewer levels.',
    ],
    [[], 'not_found', 'missing'],
  ])('of set %# are refused', (rules, code, reason) => {
    expect(() => atOnce(rewrite(rules, request, { isSecure: true }))).toThrow(
      expect.objectContaining({ code, reason }),
    );
  });

  test('lead up to the database, and further only if that is allowed', () => {
    const rules = [{ to: '../../../up' }];
    expect(() => atOnce(rewrite(rules, request, { isSecure: true }))).toThrow(
      expect.objectContaining({ code: 'insecure_rewrite_rule', reason: 'too many ../.. segments' }),
    );
    expect(atOnce(rewrite(rules, request, { isSecure: false })).path).toEqual(['..', '..', '..', 'up']);
  });

  test.each([
    [{ from: 'a/*', to: '../../../*' }, 'a/..'],
    [{ from: 'a/*', to: '../../../*' }, 'a/b/../../c'],
    [{ from: 'a/:id', to: '../../:id' }, 'a/..'],
    [{ from: 'a/*', to: '_show/x/*' }, 'a/../../../../..'],
  ])("from %j don't lead beyond the database by %s", (rule, path) => {
    expect(() => rewritten(rule, path)).toThrow(expect.objectContaining({ code: 'insecure_rewrite_rule' }));
  });
});

function deep(): unknown {
  let value: unknown = [];
  for (let depth = 0; depth < 100_000; depth++) value = [value];
  return value;
}
