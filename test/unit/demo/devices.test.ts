import { expect, test } from 'vitest';
import { allJobIds, endsOf, ONLY_NOTES, wantedJobs } from '../../../demo/src/notes/devices.ts';

const SERVER = 'http://127.0.0.1:5985/server/settee-notes';

test('devices that are online sync through the server, in both directions', () => {
  expect(wantedJobs(new Set(['phone']), 'server', SERVER)).toEqual([
    { id: 'notes-phone-to-server', source: 'notes-phone', target: SERVER },
    { id: 'notes-server-to-phone', source: SERVER, target: 'notes-phone' },
  ]);
  expect(wantedJobs(new Set(['phone', 'laptop']), 'server', SERVER)).toHaveLength(4);
  expect(wantedJobs(new Set(), 'server', SERVER)).toEqual([]);
});

test('without a server they sync with each other, if both are online', () => {
  expect(wantedJobs(new Set(['laptop', 'phone']), 'direct', SERVER)).toEqual([
    { id: 'notes-from-phone', source: 'notes-phone', target: 'notes-laptop' },
    { id: 'notes-from-laptop', source: 'notes-laptop', target: 'notes-phone' },
  ]);
  expect(wantedJobs(new Set(['phone']), 'direct', SERVER)).toEqual([]);
});

test('every replication that is ever requested is among those that are ended', () => {
  for (const way of ['server', 'direct'] as const) {
    for (const { id } of wantedJobs(new Set(['phone', 'laptop']), way, SERVER)) expect(allJobIds).toContain(id);
    for (const device of ['phone', 'laptop'] as const) {
      for (const id of Object.values(endsOf(device, way))) expect(allJobIds).toContain(id);
    }
  }
  expect(new Set(allJobIds).size).toBe(allJobIds.length);
});

test('design documents stay on their device', () => {
  expect('note-1' > ONLY_NOTES._id.$gt).toBe(true);
  expect('_design/notes' > ONLY_NOTES._id.$gt).toBe(false);
});
