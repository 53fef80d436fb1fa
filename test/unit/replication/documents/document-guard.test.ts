import { describe, expect, test } from 'vitest';
import type { DatabaseUser } from '../../../../src/database/store/contract.ts';
import { checkChange, newOwner, REPLICATOR } from '../../../../src/replication/documents/document-guard.ts';

const ENDS = { source: 'a', target: 'b' };
const ADMIN = { name: 'root', roles: ['_admin'] };
const JOE = { name: 'joe', roles: ['staff'] };
const ANYBODY = { name: null, roles: [] };
const JOES = { ...ENDS, owner: 'joe', user_ctx: { name: 'joe', roles: ['staff'] } };

const OTHERS = "Can't update replication documents from other users.";
const NOT_DELETED = 'Replication documents can only be deleted by admins or by the users who created them.';

function refusal(after: object | undefined, user: DatabaseUser = JOE, before?: object): string | undefined {
  try {
    checkChange({ before: before && { ...before }, after: after && { ...after } }, user);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'forbidden' });
    return Object(error).reason;
  }
}

describe('a user who is not an admin', () => {
  test('must give a user_ctx with the own name and roles', () => {
    expect(refusal(JOES)).toBeUndefined();
    expect(refusal({ ...JOES, user_ctx: { name: 'joe' } })).toBeUndefined();
    expect(refusal({ ...ENDS, owner: 'joe' })).toBe(
      "The `user_ctx' property is missing (it is optional for admins only).",
    );
    expect(refusal({ ...JOES, user_ctx: { name: 'ana', roles: [] } })).toBe("The given `user_ctx.name' is not valid");
    expect(refusal({ ...JOES, user_ctx: { roles: [] } })).toBe("The given `user_ctx.name' is not valid");
    const invalid = (role: string) => `Invalid role (\`${role}') in the \`user_ctx'`;
    expect(refusal({ ...JOES, user_ctx: { name: 'joe', roles: ['staff', 'boss'] } })).toBe(invalid('boss'));
    expect(refusal({ ...JOES, user_ctx: { name: 'joe', roles: ['_admin'] } })).toBe(invalid('_admin'));
  });

  test('can write and delete own documents only', () => {
    expect(refusal({ ...JOES, owner: 'ana' })).toBe(OTHERS);
    expect(refusal({ ...ENDS, user_ctx: JOES.user_ctx })).toBe(OTHERS);
    expect(refusal(JOES, JOE, { ...ENDS, owner: 'ana' })).toBe(OTHERS);
    expect(refusal(JOES, JOE, { ...ENDS, owner: null })).toBe(OTHERS);
    expect(refusal(JOES, JOE, JOES)).toBeUndefined();
    expect(refusal(undefined, JOE, { ...ENDS, owner: 'ana' })).toBe(NOT_DELETED);
    expect(refusal(undefined, ANYBODY, { ...ENDS, owner: null })).toBe(NOT_DELETED);
    expect(refusal(undefined, JOE, JOES)).toBeUndefined();
    expect(refusal(undefined, JOE, { ...ENDS, owner: 'root', user_ctx: { name: 'joe' } })).toBeUndefined();
  });
});

describe('an admin', () => {
  test('can write for others, and delete all documents', () => {
    expect(refusal({ ...ENDS, owner: 'ana' }, ADMIN, JOES)).toBeUndefined();
    expect(refusal({ ...JOES, user_ctx: { name: 'ana', roles: ['any'] } }, ADMIN)).toBeUndefined();
    expect(refusal(undefined, ADMIN, JOES)).toBeUndefined();
  });

  test('can delete a triggered document, but only the replicator can edit it', () => {
    const triggered = { ...ENDS, _replication_state: 'triggered' };
    const reason = 'Only the replicator can edit replication documents that are in the triggered state.';
    expect(refusal(ENDS, ADMIN, triggered)).toBe(reason);
    expect(refusal(undefined, ADMIN, triggered)).toBeUndefined();
    expect(refusal(ENDS, REPLICATOR, triggered)).toBeUndefined();
    for (const state of ['completed', 'error', 'odd', undefined]) {
      expect(refusal(ENDS, ADMIN, { ...ENDS, _replication_state: state })).toBeUndefined();
    }
  });
});

test('the owner is the user who writes if the document names none, and the replicator is never the owner', () => {
  expect(newOwner(ENDS, JOE)).toEqual({ owner: 'joe' });
  expect(newOwner({ ...ENDS, owner: null }, JOE)).toEqual({ owner: 'joe' });
  expect(newOwner(ENDS, ANYBODY)).toEqual({ owner: null });
  expect(newOwner({ ...ENDS, owner: null }, ANYBODY)).toBeUndefined();
  expect(newOwner({ ...ENDS, owner: 'ana' }, JOE)).toBeUndefined();
  expect(newOwner(ENDS, REPLICATOR)).toBeUndefined();
});
