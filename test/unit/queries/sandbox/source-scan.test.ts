import { describe, expect, test } from 'vitest';
import { project } from '../../../../src/queries/sandbox/programs/projection.ts';
import { mayChangeDocuments, membersUsed } from '../../../../src/queries/sandbox/programs/source-scan.ts';

describe("the scan of a map function's source", () => {
  test.each([
    'function (doc) { doc.a = 1; }',
    'function (doc) { doc["a"] += 1; }',
    'function (d) { d.list[0]++; }',
    'function (d) { --d.count; }',
    'function (d) { delete d.x; }',
    'function (d) { d.tags.sort().forEach(emit); }',
    'function (d) { var o = d; Object.assign(o, {a: 1}); }',
    'function (d) { d.tags["pu" + "sh"](1); }',
    'function (d) { [d.a, d.b] = [1, 2]; }',
    'function (d) { for (d.x of [1]); }',
    'function (d) { d.a ??= 1; d.b **= 2; }',
    'function (d) { require("views/lib/x")(d); }',
    'function (d) { d.größe = 1; }',
    'function (d) { (d.a) = 1; }',
    'function (d) { d.a/* */ = 1; }',
    'function (d) { d./* */a = 1; }',
    'function (d) { d.a // \n = 1; }',
    'function (d) { d.tags["pu" + "sh"]`a`; }',
  ])('finds that the document could be changed: %s', (source) => expect(mayChangeDocuments(source)).toBe(true));

  test.each([
    'function (doc) { emit(doc.a, doc.b); }',
    'function (doc) { for (var i = 0; i < doc.tags.length; i++) emit(doc.tags[i], 1); }',
    'function (doc) { if (doc.a == 1 && doc.b >= 2 || doc.c !== 3) emit([doc.a, doc.b.c]); }',
    '(doc) => { const { a, b = 1 } = doc; a.forEach((x) => emit(x)); }',
  ])("finds that the document isn't changed: %s", (source) => expect(mayChangeDocuments(source)).toBe(false));
});

describe('the scan for the members that a map function reads', () => {
  test.each([
    ['function (doc) { emit(doc.a, doc.b.c); }', ['a', 'b']],
    ['function map( d ) { if (d && d.type === "x") emit(d._id, d["y z"]); }', ['_id', 'type', 'y z']],
    ["doc => emit(doc?.a, doc['b'])", ['a', 'b']],
    ['(doc) => { doc.list.forEach((item) => emit(item, doc.n)); };', ['list', 'n']],
    ['function ($d) { emit($d.a); var d; d; }', ['a']],
    ['function (doc, unused) { emit(1); }', []],
    ['function (doc) { emit(x.doc.a) }', ['a']],
  ])('finds all members of %s', (source, members) =>
    expect([...(membersUsed(source) ?? ['?'])].sort()).toEqual(members),
  );

  test.each([
    'function (doc) { emit(doc); }',
    'function (doc) { emit(doc.a, {doc}); }',
    'function (doc) { for (var k in doc) emit(k); }',
    'function (doc) { emit(doc[key]); }',
    'function (doc) { if (doc.hasOwnProperty("a")) emit(1); }',
    'function (doc) { emit(arguments[0].a); }',
    'function (doc) { emit(eval("d" + "oc").a); }',
    'function (doc) { emit(d\\u006fc); }',
    'function (doc) { emit(...doc); }',
    'function (doc) { emit(doc.größe); }',
    'function (doc) { emit(doc?.naïve); }',
    'function ({ a }) { emit(a); }',
    'function (doc = {}) { emit(doc.a); }',
    'function (...doc) { emit(doc.a); }',
    'function (doc) { /* all of doc */ emit(doc.a); }',
    '(function () { return function (doc) { emit(doc.a); }; })()',
  ])('finds no complete list for %s', (source) => expect(membersUsed(source)).toBeUndefined());
});

test('a projection keeps the text of members', () => {
  const text = '{"a":1.50,"b":{"a":[1,"}"]},"\\u0061":2,"c":"x\\"","d":null}';
  expect(project(text, new Set(['a', 'c']))).toBe('{"a":1.50,"\\u0061":2,"c":"x\\""}');
  expect(project(text, new Set(['none']))).toBe('{}');
  expect(project('{}', new Set(['a']))).toBe('{}');
});
