/** Where a visitor goes on from the demo. */
import { repository } from 'virtual:about';
import { make } from '../elements/elements.ts';

interface Further {
  readonly title: string;
  readonly href: string;
  readonly about: string;
}

/** In a tab of its own each: the demo goes on in this one. */
const further: readonly Further[] = [
  {
    title: 'Administration',
    href: '/db/_utils/',
    about: 'Every database of this browser: its documents, queries, replications and settings',
  },
  {
    title: 'Administration of the server',
    href: '/server/_utils/',
    about: 'The same page, for the server that npm start runs',
  },
  { title: 'Documentation', href: '/docs/docs/README.html', about: 'How to use Settee, and what it promises' },
  {
    title: 'Source',
    href: repository ?? '/docs/src/README.html',
    about:
      repository === undefined
        ? 'The map of the source, which is in the clone that serves this page'
        : 'The repository',
  },
];

/** Links, one after the other. */
export function furtherLinks(): readonly HTMLElement[] {
  return further.map(({ title, href, about }) => make('a', { href, title: about, target: '_blank' }, title));
}

/** Links with what is to be found there, in a menu that opens beside the navigation. */
export function furtherMenu(): HTMLElement {
  const items = further.map(({ title, href, about }) =>
    make('li', {}, make('a', { href, target: '_blank' }, make('strong', {}, title), make('span', {}, about))),
  );
  const menu = make('details', { class: 'menu' }, make('summary', {}, 'More'), make('ul', {}, ...items));
  const close = () => {
    menu.open = false;
  };
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !menu.open) return;
    close();
    menu.querySelector('summary')?.focus();
  });
  menu.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('a')) close();
  });
  addEventListener('pointerdown', ({ target }) => {
    if (target instanceof Node && !menu.contains(target)) close();
  });
  menu.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !menu.contains(relatedTarget)) close();
  });
  return menu;
}
