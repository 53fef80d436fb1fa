/** What Settee is, for whom, what one types, and how one begins: the first thing that a visitor reads. */
import { button, make } from '../elements/elements.ts';

/** It works in the console of this page, and its note shows on both devices. */
const LINE =
  "await fetch('/db/notes-phone/note-hello', { method: 'PUT', body: JSON.stringify({ type: 'note', text: 'Hello', time: new Date().toISOString() }) })";

const COMMANDS: readonly (readonly [command: string, about: string])[] = [
  ['npm start', 'in a clone: this demo, a server and its administration page'],
  ['npm install settee', 'in your app; until it is in npm’s registry, with the file that npm pack makes'],
];

const CLOSED_KEY = 'intro-closed';
const COPIED_MS = 1500;

export function intro(): HTMLElement {
  const line = make('code', {}, LINE);
  const copy = button('Copy', () => void copyLine(copy), { class: 'copy', 'data-action': 'copy-line' });
  const what =
    'is a document database that runs in the browser, for developers whose web apps must work offline and sync later. You use it with fetch:';
  const element = make(
    'details',
    { class: 'intro', open: localStorage.getItem(CLOSED_KEY) === null },
    make('summary', { class: 'intro-what' }, make('span', {}, make('strong', {}, 'Settee'), ` ${what}`)),
    make('div', { class: 'intro-line' }, line, copy),
    make(
      'ul',
      { 'aria-label': 'How to begin' },
      ...COMMANDS.map(([command, about]) =>
        make('li', { class: 'intro-command' }, make('code', {}, command), make('span', {}, about)),
      ),
      make(
        'li',
        { class: 'intro-command' },
        make('a', { href: '/docs/docs/first-app.html', target: '_blank' }, 'A first app'),
        make('span', {}, 'in five commands and thirty lines'),
      ),
    ),
  );
  element.addEventListener('toggle', () => {
    if (element.open) localStorage.removeItem(CLOSED_KEY);
    else localStorage.setItem(CLOSED_KEY, 'true');
  });
  return element;
}

async function copyLine(control: HTMLButtonElement): Promise<void> {
  const outcome = await navigator.clipboard.writeText(LINE).then(
    () => 'Copied',
    () => 'Refused',
  );
  control.textContent = outcome;
  setTimeout(() => {
    control.textContent = 'Copy';
  }, COPIED_MS);
}
