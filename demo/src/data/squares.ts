/** The map's square degrees: numbered row by row from the north pole and 180° west, 360 to a row. */
import type { Place } from './datasets.ts';

export function squareOf([latitude, longitude]: Place): number {
  const row = Math.min(179, Math.max(0, Math.floor(90 - latitude)));
  return row * 360 + Math.min(359, Math.max(0, Math.floor(longitude + 180)));
}

/** The same for a view, whose functions run in a sandbox and see nothing of the page. */
export const emitSquare = `function (doc) {
  var place = doc.latlng;
  if (!Array.isArray(place) || typeof place[0] !== 'number' || typeof place[1] !== 'number') return;
  var row = Math.min(179, Math.max(0, Math.floor(90 - place[0])));
  emit(row * 360 + Math.min(359, Math.max(0, Math.floor(place[1] + 180))));
}`;
