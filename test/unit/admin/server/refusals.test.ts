import { describe, expect, test } from 'vitest';
import type { ServerError } from '../../../../src/admin/server/client.ts';
import { absentEndpoint, adviceOf } from '../../../../src/admin/server/refusals.ts';
import type { Session } from '../../../../src/admin/server/session.ts';

const NOBODY: Session = { name: null, roles: [], authenticated: undefined, hasAccounts: true };
const ANA: Session = { name: 'ana', roles: ['reader', 'editor'], authenticated: 'cookie', hasAccounts: true };

function failure(status: number, code: string, reason: string, path = 'library'): ServerError {
  return Object.assign(new Error(reason), {
    name: 'ServerError',
    status,
    code,
    reason,
    request: { method: 'GET', path },
  });
}

describe('the advice on a refusal', () => {
  test('says to nobody which right is missing, and to log in', () => {
    expect(adviceOf(failure(401, 'unauthorized', 'You are not a server admin.'), NOBODY, true)).toEqual({
      title: 'Only admins of the server can do this.',
      advice: 'You are not logged in. Log in as an admin, or ask one for it.',
      isAboutRights: true,
    });
  });

  test('says to a user who they are, and who can help', () => {
    expect(adviceOf(failure(401, 'unauthorized', 'You are not authorized to access this db.'), ANA, true)).toEqual({
      title: 'Only members of this database can read it.',
      advice:
        'You are logged in as ana, with the roles reader and editor. Ask an admin to add your name, or one of your roles, to the members on the screen Security of the database.',
      isAboutRights: true,
    });
  });

  test.each([
    ['You are not a db or server admin.', 'Only admins of this database can do this.'],
    ['You are not allowed to access this db.', 'Only members of this database can read it.'],
    ['Authentication required.', 'Only users who are logged in can do this.'],
  ])('understands “%s”', (reason, title) => {
    expect(adviceOf(failure(403, 'forbidden', reason), ANA, false)?.title).toBe(title);
  });

  test('gives the reason of a validation function, and who the user is', () => {
    expect(adviceOf(failure(403, 'forbidden', 'Only editors write here.'), { ...ANA, roles: [] }, true)).toEqual({
      title: 'Only editors write here.',
      advice: 'You are logged in as ana, without roles.',
      isAboutRights: false,
    });
  });

  test('leaves a wrong password to the words of the server', () => {
    expect(adviceOf(failure(401, 'unauthorized', 'Name or password is incorrect.'), NOBODY, true)).toBeUndefined();
  });

  test('says that a foreign server has no such endpoint, and never says so of Settee', () => {
    const missing = failure(404, 'not_found', 'missing', 'library/_find');
    expect(adviceOf(missing, ANA, false)?.title).toBe('This server has no _find.');
    expect(adviceOf(missing, ANA, true)).toBeUndefined();
  });
});

describe('an absent endpoint', () => {
  test.each([
    [404, 'missing', '_scheduler/jobs?limit=100', '_scheduler'],
    [404, 'missing', 'library/_temp_view', '_temp_view'],
    [404, 'missing', 'library/_design/books/_info', '_info'],
    [405, 'Only GET,PUT,DELETE allowed', 'library/_find', '_find'],
    [501, 'not implemented', '_up', '_up'],
    [400, 'Name: `_config`. Only lowercase characters', '_config/log', '_config'],
    [404, 'Database does not exist.', '_dbs_info', '_dbs_info'],
  ])('is known by %s “%s” of %s', (status, reason, path, endpoint) => {
    expect(absentEndpoint(failure(status, 'not_found', reason, path))).toBe(endpoint);
  });

  test.each([
    [404, 'missing', 'library/a'],
    [404, 'Database does not exist.', 'library/_find'],
    [404, 'missing_named_view', 'library/_design/books/_view/years'],
    [404, 'missing', 'library/_design/books'],
    [404, 'missing', 'library/_local/a'],
    [400, 'invalid UTF-8 JSON', 'library/_find'],
    [500, 'boom', 'library/_find'],
  ])('is not meant by %s “%s” of %s', (status, reason, path) => {
    expect(absentEndpoint(failure(status, 'not_found', reason, path))).toBeUndefined();
  });
});
