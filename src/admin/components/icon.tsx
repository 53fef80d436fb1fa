/** Line drawings of 24 × 24, in the colour of the text. */
const PATHS = {
  databases:
    'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zm0 0v6c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12v6c0 1.7 3.6 3 8 3s8-1.3 8-3v-6',
  replication: 'M4 8h13l-3-3M20 16H7l3 3',
  users: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21c0-4 3-6 7-6s7 2 7 6M16 4a4 4 0 0 1 0 7M18 15c2.500.8 4 2.600 4 6',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 4.500v5M8 14.500v5',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  console: 'M4 5h16v14H4zM8 10l2.500 2L8 14M12.500 14.500h4',
  check: 'M5 13l4 4L19 7',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  left: 'M15 5l-7 7 7 7',
  right: 'M9 5l7 7-7 7',
  down: 'M5 9l7 7 7-7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  warning: 'M12 4l9 16H3zM12 10v4M12 17v.500',
  refresh: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  menu: 'M4 6h16M4 12h16M4 18h16',
  lock: 'M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3',
  shape: 'M4 20V10M10 20V4M16 20v-7M22 20H2',
  query: 'M4 5h16l-6 7v6l-4 2v-8z',
  document: 'M6 3h8l4 4v14H6zM14 3v4h4',
  conflict: 'M6 21V3M6 12c8 0 12-3 12-9M6 12c8 0 12 3 12 9',
  play: 'M7 5l12 7-12 7z',
  pause: 'M8 5v14M16 5v14',
  up: 'M5 15l7-7 7 7',
  more: 'M5 12h.010M12 12h.010M19 12h.010',
  download: 'M12 4v11M7 11l5 5 5-5M4 20h16',
  undo: 'M9 6L4 11l5 5M4 11h10a6 6 0 0 1 6 6v2',
  upload: 'M12 16V5M7 9l5-5 5 5M4 20h16',
  moon: 'M20 14a8 8 0 1 1-9.500-10 7 7 0 0 0 9.500 10z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M19 5l-1.500 1.500M6.500 17.500L5 19',
  keys: 'M3 6h18v12H3zM7 10h.010M12 10h.010M17 10h.010M8 14h8',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative: what it stands beside, or the control's label, says what it means. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
