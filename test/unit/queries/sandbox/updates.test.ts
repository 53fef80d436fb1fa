import { describe, expect, test } from 'vitest';
import { openProgram } from './quickjs-files.ts';
import { request, useSandbox } from './rendering-programs.ts';

const sandbox = useSandbox();

describe('an update', () => {
  const update = async (body: string, document = 'null') => {
    const { program } = await openProgram(sandbox, { updates: { u: `function (doc, req) { ${body} }` } });
    return program.update('u', document, request());
  };

  test('returns the document to save, and a response', async () => {
    expect(await update('doc.n++; return [doc, "ok"];', '{"_id":"a","n":1}')).toEqual({
      document: '{"_id":"a","n":2}',
      response: { code: undefined, headers: {}, body: 'ok' },
    });
    expect(await update('return [null, {code: 202, json: {a: 1}}];')).toEqual({
      document: undefined,
      response: { code: 202, headers: { 'Content-Type': 'application/json' }, body: '{"a":1}' },
    });
  });

  test('without a response fails', async () => {
    const expected = { code: 'render_error', reason: 'undefined response from update function' };
    await expect(update('return [doc];')).rejects.toMatchObject(expected);
    await expect(update('')).rejects.toMatchObject(expected);
  });
});
