/** Listens for the buttons of all blocks, on whichever page the reader is. Nothing of Settee is loaded before the first *Run*. */
import { Blocks } from './page-blocks.ts';

/** `site` is the path of the site; `pathOfPage` gives that of the page in the repository. */
export function listen(site: string, pathOfPage: () => string): void {
  const known = new WeakMap<Element, Blocks>();

  const blocksOf = (element: HTMLElement): Blocks => {
    const page = element.closest('.vp-doc') ?? document.body;
    const blocks = known.get(page.firstElementChild ?? page) ?? new Blocks(site, pathOfPage(), elementsIn(page));
    known.set(page.firstElementChild ?? page, blocks);
    return blocks;
  };

  document.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest<HTMLElement>('.runnable button') : null;
    const element = button?.closest<HTMLElement>('.runnable');
    if (!button || !element) return;
    if (button.matches('.runnable-run'))
      blocksOf(element)
        .run(element)
        .catch((error) => reportError(error));
    if (button.matches('.runnable-empty'))
      blocksOf(element)
        .empty(element)
        .catch((error) => reportError(error));
    if (button.matches('.runnable-tab')) choose(Number(button.dataset['tab']));
  });
}

/** Runs the blocks of the first page by itself: what it promises is there to be seen. */
export function runFrontPage(): void {
  const run = document.querySelector<HTMLElement>('.front .runnable:not([data-outcome]) .runnable-run');
  if (run === null) return;
  const start = () => run.click();
  if ('requestIdleCallback' in globalThis) requestIdleCallback(start);
  else setTimeout(start, 200);
}

function elementsIn(page: Element): HTMLElement[] {
  return [...page.querySelectorAll<HTMLElement>('.runnable')];
}

/** Shows the same kind of code in all blocks of the page. */
function choose(tab: number): void {
  for (const element of document.querySelectorAll<HTMLElement>('.runnable')) {
    const tabs = [...element.querySelectorAll('.runnable-tab')];
    if (tabs.length === 0) continue;
    for (const [index, one] of tabs.entries()) one.setAttribute('aria-pressed', String(index === tab));
    for (const [index, panel] of [...element.querySelectorAll<HTMLElement>('.runnable-panel')].entries())
      panel.hidden = index !== tab;
  }
}
