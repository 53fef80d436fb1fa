/** Paths for `icon`. */
export const icons = {
  back: 'M15 5l-7 7 7 7',
  forward: 'M9 5l7 7-7 7',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.2 16.2L21 21',
  sofa: 'M6 10V8.5A2.5 2.5 0 0 1 8.5 6h7A2.5 2.5 0 0 1 18 8.5V10M4 12a1.7 1.7 0 0 1 3.4 0v2h9.2v-2a1.7 1.7 0 0 1 3.4 0v4.5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1zM12 6v8M6.5 17.5V19M17.5 17.5V19',
} as const;
