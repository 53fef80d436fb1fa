/** Random edits that people make in the app during the week. */
import type { SeededRandom } from '../seeded-random.ts';
import type { Device } from './device.ts';

/** Notes that all devices edit, at times while they are offline. */
const SHARED = 8;
/** Notes that all devices edit, and whose conflicts nobody resolves. */
const OPEN = 2;
const LONG_BYTES = 90_000;

interface EditOptions {
  readonly random: SeededRandom;
  /** Counts the edits of the week. */
  readonly number: number;
  /** Whether notes that others edit may be deleted. */
  readonly deletesShared: boolean;
}

export async function editSomething(device: Device, { random, number, deletesShared }: EditOptions): Promise<void> {
  const text = `${device.name} ${number}`;
  const dice = random.between(1, 100);
  if (dice <= 35) return create(device, `${device.name}-${number}`, text, random);
  if (dice <= 45) return removeOwn(device, random);
  if (dice <= 55) return device.edit(`open-${random.between(1, OPEN)}`, text);
  const shared = `note-${random.between(1, SHARED)}`;
  if (dice <= 65 && deletesShared) return remove(device, shared);
  await device.edit(shared, text);
}

async function create({ notes, user: owner }: Device, _id: string, text: string, random: SeededRandom): Promise<void> {
  await notes.put({ _id, owner, text, ...newAttachments(random) });
}

export function newAttachments(random: SeededRandom, percent = 30) {
  if (!random.chance(percent)) return {};
  const bytes = Buffer.alloc(random.chance(25) ? LONG_BYTES : random.between(0, 300), random.hexDigits(16));
  return { _attachments: { picture: { content_type: 'image/png', data: bytes.toString('base64') } } };
}

/** One that no other device edits. */
async function removeOwn(device: Device, random: SeededRandom): Promise<void> {
  const startkey = `${device.name}-`;
  const { rows } = await device.notes.all({ startkey, endkey: `${startkey}\ufff0` });
  const row = random.oneOf(rows);
  if (row !== undefined) await remove(device, row.id);
}

async function remove({ notes, user: owner }: Device, id: string): Promise<void> {
  const note = await notes.get(id);
  if (note === undefined) return;
  const { _id, _rev } = note;
  await notes.bulk([{ _id, _rev, _deleted: true, owner }]);
}
