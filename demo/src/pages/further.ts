/** Where a visitor goes on from the demo. */
import { repository } from 'virtual:about';
import { make } from '../elements/elements.ts';
import type { Network } from '../following/network.ts';

interface Further {
  readonly title: string;
  readonly href: string;
  readonly about: string;
  /** Why it leads nowhere now; undefined: it does. */
  whyOff?(network: Network): string | undefined;
}

/** In a tab of its own each: the demo goes on in this one. */
const further: readonly Further[] = [
  {
    title: 'Administration',
    href: '/db/_utils/',
    about: 'Every database of this browser: its documents, queries, replications and settings',
    whyOff: () =>
      'serviceWorker' in navigator
        ? undefined
        : 'Not here: this browser lets this page have no service worker, which answers it.',
  },
  {
    title: 'Administration of the server',
    href: '/server/_utils/',
    about: 'The same page, for the server that npm start runs',
    whyOff: whyNoServer,
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

function whyNoServer({ state, hasServer }: Network): string | undefined {
  if (!hasServer) return 'Not now: this page is served without a server beside it. With npm start it has one.';
  if (state === 'offline') return 'Not now: there is no network.';
  return state === 'away' ? 'Not now: the server does not answer.' : undefined;
}

/** A link that has no address, and says why, while it would lead to nothing. `about`: where that is said. */
function furtherLink({ href, about, whyOff }: Further, network: Network, link: HTMLAnchorElement, text: Element): void {
  const show = () => {
    const reason = whyOff?.(network);
    text.textContent = reason ?? about;
    if (reason === undefined) {
      link.href = href;
      link.removeAttribute('aria-disabled');
      link.removeAttribute('role');
    } else {
      link.removeAttribute('href');
      link.setAttribute('aria-disabled', 'true');
      link.setAttribute('role', 'link');
    }
    if (!link.contains(text)) link.title = reason ?? about;
  };
  network.addEventListener('change', show);
  show();
}

/** Links, one after the other. */
export function furtherLinks(network: Network): readonly HTMLElement[] {
  return further.map((each) => {
    const link = make('a', { target: '_blank' }, each.title);
    furtherLink(each, network, link, make('span', {}));
    return link;
  });
}

/** Links with what is to be found there, in a menu that opens beside the navigation. */
export function furtherMenu(network: Network): HTMLElement {
  const items = further.map((each) => {
    const about = make('span', {});
    const link = make('a', { target: '_blank' }, make('strong', {}, each.title), about);
    furtherLink(each, network, link, about);
    return make('li', {}, link);
  });
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
