import { describe, expect, test } from 'vitest';
import {
  type Entry,
  entryOf,
  eventsBetween,
  failedStatus,
  overall,
  PENDING,
  statusOf,
  stoppedStatus,
} from '../../../../../src/packages/database-client/sync/sync-status.ts';

const refused = [{ id: 'a', rev: '1-a', error: 'forbidden', reason: 'no' }];

const stateOf = (state: string, info: Entry['info'] = null) => statusOf({ id: null, state, info }, false).state;

test.each([
  ['initializing', null, 'pending'],
  ['pending', null, 'pending'],
  ['running', null, 'active'],
  ['running', { changes_pending: null }, 'active'],
  ['running', { changes_pending: 3 }, 'active'],
  ['running', { changes_pending: 0 }, 'paused'],
  ['running', { changes_pending: 0, refused_count: 1, refused }, 'denied'],
  ['running', { changes_pending: 2, refused_count: 1, refused }, 'active'],
  ['paused', { error: "offline: http://db.test/notes can't be reached" }, 'offline'],
  ['crashing', { error: 'replication_failed: the server fails' }, 'error'],
  ['error', { error: 'unknown_error: no' }, 'error'],
  ['failed', { error: 'db_not_found: could not open http://db.test/notes' }, 'error'],
  ['crashing', { error: 'unauthorized: unauthorized to access http://db.test/notes' }, 'unauthorized'],
  ['failed', { error: 'forbidden: You are not allowed to access this db.' }, 'unauthorized'],
  ['unauthorized', null, 'unauthorized'],
  ['completed', { refused_count: 1, refused }, 'complete'],
  ['a new one', null, 'pending'],
])('an entry that is %s with %j is %s', (state, info, expected) => {
  expect(stateOf(state, info)).toBe(expected);
});

describe('the status of a direction', () => {
  test('has the figures of its replication', () => {
    const info = {
      docs_read: 3,
      docs_written: 2,
      doc_write_failures: 1,
      changes_pending: 0,
      refused_count: 1,
      refused,
    };
    expect(statusOf({ id: 'x+continuous', state: 'running', info }, false)).toEqual({
      state: 'denied',
      docs_read: 3,
      docs_written: 2,
      doc_write_failures: 1,
      pending: 0,
      refused_count: 1,
      refused,
      replication_id: 'x+continuous',
    });
  });

  test('says how far the first copy is', () => {
    const entry: Entry = { id: null, state: 'running', info: { revisions_checked: 40, changes_pending: 60 } };
    expect(statusOf(entry, true)).toMatchObject({ state: 'active', pending: 60, progress: { done: 40, total: 100 } });
    expect(statusOf(entry, false)).not.toHaveProperty('progress');
    expect(statusOf({ ...entry, info: { changes_pending: null } }, true)).not.toHaveProperty('progress');
  });

  test('says what failed, since when, and when it is tried again', () => {
    const error = "offline: http://db.test/notes can't be reached: getaddrinfo ENOTFOUND db.test";
    const times = { error_since: '2026-01-31T12:00:00Z', next_attempt: '2026-01-31T12:00:05Z' };
    expect(statusOf({ id: null, state: 'paused', info: { error, ...times } }, false)).toMatchObject({
      state: 'offline',
      last_error: {
        error: 'offline',
        reason: "http://db.test/notes can't be reached: getaddrinfo ENOTFOUND db.test",
        since: '2026-01-31T12:00:00Z',
      },
      next_attempt: '2026-01-31T12:00:05Z',
    });
  });

  test('of an error without a code says that', () => {
    const { last_error } = statusOf({ id: null, state: 'error', info: { error: 'broken' } }, false);
    expect(last_error).toEqual({ error: 'unknown_error', reason: 'broken' });
  });

  test('can be read from its document', () => {
    const of = (document: object) => statusOf(entryOf({ source: 'a', target: 'b', ...document }), false).state;
    expect(of({})).toBe('pending');
    expect(of({ _replication_state: 'triggered' })).toBe('active');
    expect(of({ _replication_state: 'completed' })).toBe('complete');
    expect(of({ _replication_state_reason: 'offline: no route' })).toBe('offline');
    expect(of({ _replication_state_reason: 'unauthorized: no page is open' })).toBe('unauthorized');
    expect(of({ _replication_state_reason: 'The document `a` requests the same' })).toBe('pending');
    expect(of({ _replication_state: 'error', _replication_state_reason: 'unauthorized: no' })).toBe('unauthorized');
  });

  test('without a replication is an error, or one of rights', () => {
    const status = failedStatus({ error: 'service_unavailable', reason: 'later' }, '2026-01-31T12:00:05Z');
    expect(status).toMatchObject({ state: 'error', next_attempt: '2026-01-31T12:00:05Z' });
    expect(failedStatus({ error: 'unauthorized', reason: 'no' }, undefined)).toEqual({
      ...PENDING,
      state: 'unauthorized',
      last_error: { error: 'unauthorized', reason: 'no' },
    });
  });
});

test('the state of a sync is that of the direction that needs attention', () => {
  const paused = { ...PENDING, state: 'paused' } as const;
  const offline = { ...PENDING, state: 'offline' } as const;
  expect(overall({ push: paused, pull: paused })).toEqual({ state: 'paused', push: paused, pull: paused });
  expect(overall({ push: paused, pull: offline }).state).toBe('offline');
  expect(overall({ push: { ...PENDING, state: 'active' }, pull: paused }).state).toBe('active');
  expect(overall({ pull: stoppedStatus() }).state).toBe('stopped');
  expect(overall({ pull: { ...PENDING, state: 'unauthorized' }, push: offline }).state).toBe('unauthorized');
});

describe('the events of a direction', () => {
  const active = { ...PENDING, state: 'active' } as const;
  const denied = { ...PENDING, state: 'denied' } as const;
  const failed = failedStatus({ error: 'a', reason: 'b' }, undefined);

  test('name its new state, and that documents were copied', () => {
    expect(eventsBetween(PENDING, active)).toEqual(['active']);
    expect(eventsBetween(active, { ...active, docs_written: 2 })).toEqual(['change']);
    expect(eventsBetween(active, { ...denied, docs_written: 2 })).toEqual(['change', 'paused']);
    expect(eventsBetween({ ...active, docs_written: 2 }, { ...active, docs_written: 0 })).toEqual([]);
    expect(eventsBetween(active, PENDING)).toEqual([]);
    expect(eventsBetween(active, stoppedStatus())).toEqual([]);
  });

  test('name each other failure', () => {
    expect(eventsBetween(active, failed)).toEqual(['error']);
    expect(eventsBetween(failed, failed)).toEqual([]);
    expect(eventsBetween(failed, { ...failed, last_error: { error: 'a', reason: 'c' } })).toEqual(['error']);
  });
});
