import { describe, expect, test, vi } from 'vitest';
import { PROTOCOL } from '../../../../../src/browser/bridge/wire.ts';
import { messagesArrived, reasonOf } from '../support.ts';
import { newLink, request, useLinks, waitingOwner } from './links.ts';

useLinks();

describe('an owner of another version', () => {
  test.each([
    [PROTOCOL + 1, 'Another tab runs a newer version of this app and owns the database: reload this tab'],
    [PROTOCOL - 1, 'Another tab runs an older version of this app and owns the database: reload or close that tab'],
  ])('(%i) is told by name', async (protocol, reason) => {
    const owner = await waitingOwner().rise();
    owner.refuses = 'protocol';
    owner.protocol = protocol;
    owner.announce();
    expect(reasonOf(await newLink().handle(request('PUT notes/a', { body: '{}' })))).toBe(reason);
  });

  test.each([
    [PROTOCOL + 1, 1],
    [PROTOCOL, 0],
    [PROTOCOL - 1, 0],
  ])('(%i) makes the link outdated %i times, by its announcements and refusals', async (protocol, times) => {
    const onOutdated = vi.fn();
    const link = newLink({ onOutdated });
    const owner = await waitingOwner().rise();
    owner.refuses = 'protocol';
    owner.protocol = protocol;
    owner.announce();
    await messagesArrived();
    expect(onOutdated).toHaveBeenCalledTimes(times);
    await link.handle(request('PUT notes/a', { body: '{}' }));
    expect(onOutdated).toHaveBeenCalledTimes(times);
  });

  test('makes the link outdated even if its announcement was missed', async () => {
    const owner = await waitingOwner().rise();
    owner.refuses = 'protocol';
    owner.protocol = PROTOCOL + 1;
    const onOutdated = vi.fn();
    await newLink({ onOutdated }).handle(request('PUT notes/a', { body: '{}' }));
    expect(onOutdated).toHaveBeenCalledTimes(1);
  });
});
