/** The four views that all of the page comes from: each is a few lines in the design document that both devices have. */

export const DESIGN = '_design/notes';

const notes = `function (doc) {
  if (doc.type !== 'note') return;
  var files = doc._attachments || {};
  emit(doc.time, {
    rev: doc._rev, text: doc.text, kind: doc.kind, tags: doc.tags, latlng: doc.latlng, by: doc.by,
    photo: Boolean(files['thumbnail.jpg']), conflicts: (doc._conflicts || []).length
  });
}`;

/** How many notes, and how many bytes their photos have. */
const sums = `function (doc) {
  if (doc.type !== 'note') return;
  var bytes = 0, files = doc._attachments || {};
  for (var name in files) bytes += files[name].length;
  emit([doc.kind, String(doc.time).slice(0, 10)], [1, bytes]);
}`;

const days = `function (doc) {
  if (doc.type === 'note') emit([String(doc.time).slice(0, 10), doc.kind], 1);
}`;

const words = `function (doc) {
  if (doc.type !== 'note') return;
  var text = [doc.text, doc.kind].concat(doc.tags || []).join(' ');
  var plain = String(text).toLowerCase().normalize('NFD').replace(/\\p{M}/gu, '');
  new Set(plain.match(/[\\p{L}\\p{N}]+/gu) || []).forEach(function (word) { emit(word); });
}`;

export const design = {
  language: 'javascript',
  views: {
    notes: { map: notes },
    sums: { map: sums, reduce: '_sum' },
    days: { map: days, reduce: '_count' },
    words: { map: words },
  },
} as const;

export type ViewName = keyof typeof design.views;
