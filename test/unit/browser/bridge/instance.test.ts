import { describe, expect, test } from 'vitest';
import {
  aliveLock,
  channelName,
  createInstance,
  isBelow,
  isOwnershipWanted,
  ownerLock,
  ownerOf,
} from '../../../../src/browser/bridge/instance.ts';

const origin = 'https://app.example';

describe('an instance', () => {
  test.each([
    ['/db/', 'https://app.example/db/'],
    ['/db', 'https://app.example/db/'],
    ['/', 'https://app.example/'],
    ['https://db.example.com', 'https://db.example.com/'],
    ['https://DB.example.com:443/x', 'https://db.example.com/x/'],
    ['//db.example.com/x/', 'https://db.example.com/x/'],
    ['/a/../b/', 'https://app.example/b/'],
  ])('%s has the base %s', (base, absolute) => {
    expect(createInstance(base, origin)).toEqual({ base: absolute, name: `settee:${absolute}` });
  });

  test.each([
    ['', 'it is empty'],
    ['http://', 'it is not a valid address'],
    ['ftp://example.com/', 'its protocol is ftp:'],
    ['data:text/plain,x', 'its protocol is data:'],
    ['https://me:secret@example.com/', 'it names a user'],
    ['/db/?x=1', 'it has a query or a fragment'],
    ['/db/#top', 'it has a query or a fragment'],
  ])('%j is refused: %s', (base, why) => {
    expect(() => createInstance(base, origin)).toThrow(`can't be used, ${why}; pass a path such as "/db/"`);
  });

  test.each(['/', 'https://app.example', '/app', '/app/'])('%s is refused for a script below it', (base) => {
    const why = "the site's own files are below it";
    expect(() => createInstance(base, 'https://app.example/app/settee-worker.js')).toThrow(`can't be used, ${why}`);
    expect(createInstance('/app/db/', 'https://app.example/app/settee-sw.js?base=/app/db/').base).toBe(
      'https://app.example/app/db/',
    );
  });

  test('names locks and channels after its base', () => {
    const instance = createInstance('/db', origin);
    expect(ownerLock(instance)).toBe('settee:https://app.example/db/|owner');
    expect(aliveLock(instance, 'x')).toBe('settee:https://app.example/db/|alive|x');
    expect(channelName(instance)).toBe('settee:https://app.example/db/');
    expect(channelName(instance, 'x')).toBe('settee:https://app.example/db/|x');
  });

  test('answers addresses below its base only', () => {
    const instance = createInstance('/db', origin);
    expect(isBelow(instance, 'https://app.example/db/notes/a%2Fb?x=1')).toBe(true);
    expect(isBelow(instance, 'https://app.example/db/')).toBe(true);
    expect(isBelow(instance, 'https://app.example/db')).toBe(false);
    expect(isBelow(instance, 'https://app.example/dbs/notes')).toBe(false);
    expect(isBelow(instance, 'https://other.example/db/notes')).toBe(false);
  });
});

describe('the owner', () => {
  const instance = createInstance('/db', origin);
  const owner = (clientId: string): LockInfo => ({ name: ownerLock(instance), mode: 'exclusive', clientId });
  const alive = (id: string, clientId: string, mode: LockMode = 'exclusive'): LockInfo => ({
    name: aliveLock(instance, id),
    mode,
    clientId,
  });

  test('is identified by its alive lock', () => {
    expect(ownerOf({ held: [owner('tab 1'), alive('o1', 'tab 1')] }, instance)).toBe('o1');
  });

  test('is not the client whose lock was stolen', () => {
    const held = [alive('o1', 'tab 1'), owner('tab 2'), alive('o2', 'tab 2')];
    expect(ownerOf({ held }, instance)).toBe('o2');
    expect(ownerOf({ held: held.slice(0, 2) }, instance)).toBeUndefined();
  });

  test('is neither a client that only watches nor one of another instance', () => {
    const other = createInstance('/db/two', origin);
    const held = [owner('tab 1'), alive('o1', 'tab 1', 'shared')];
    expect(ownerOf({ held }, instance)).toBeUndefined();
    expect(ownerOf({ held: [owner('tab 1'), alive('o1', 'tab 1')] }, other)).toBeUndefined();
    expect(ownerOf({}, instance)).toBeUndefined();
  });

  test('is wanted if a client holds its lock or waits for it', () => {
    expect(isOwnershipWanted({ held: [], pending: [] }, instance)).toBe(false);
    expect(isOwnershipWanted({ held: [owner('tab 1')] }, instance)).toBe(true);
    expect(isOwnershipWanted({ pending: [owner('tab 1')] }, instance)).toBe(true);
    expect(isOwnershipWanted({ held: [alive('o1', 'tab 1')] }, instance)).toBe(false);
  });
});
