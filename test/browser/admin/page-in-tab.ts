import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Tab } from '../drivers/browser.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Runs in the page: finds what a person would name. */
const FINDERS = `
  const nameOf = (one) => (one.getAttribute('aria-label') ?? one.textContent).replace(/\\s+/g, ' ').trim();
  const isSeen = (one) => one.checkVisibility() && (document.querySelector('dialog[open]')?.contains(one) ?? true);
  const control = (name) => [...document.querySelectorAll('button, a[href], [role=tab], [role=menuitem], summary')]
    .filter(isSeen).find((one) => nameOf(one) === name);
  const field = (label) => [...document.querySelectorAll('input, textarea, select')].filter(isSeen).find((one) =>
    one.getAttribute('aria-label') === label || [...(one.labels ?? [])].some((text) => (text.querySelector('span')?.textContent ?? text.textContent).trim() === label));
`;

/** The administration page in a tab, whatever serves it: what its users do, and what they see. */
export abstract class PageInTab {
  abstract readonly tab: Tab;

  async goTo(hash: string): Promise<void> {
    await this.tab.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
  }

  /** Clicks the control with that name; `selector` chooses among several. Waits until it is there. */
  async press(name: string, selector = '*'): Promise<void> {
    await this.until(
      `(() => { ${FINDERS} const found = [...document.querySelectorAll('button, a[href], [role=tab], [role=menuitem], summary')].filter(isSeen)
        .find((one) => nameOf(one) === ${JSON.stringify(name)} && one.matches(${JSON.stringify(selector)}) && one.ariaDisabled !== 'true' && !one.disabled);
        found?.click(); return found !== undefined; })()`,
      `a control named ${name}`,
    );
  }

  /** Builds the view in sight, unless the server has already done so by itself: it does a second after a write. */
  async build(): Promise<void> {
    await this.until(
      `(() => { ${FINDERS} control('Build now')?.click(); return document.body.innerText.includes('up to date'); })()`,
      'a view that is up to date',
    );
  }

  /** Types into the field with that label. Waits until it is there. */
  async fill(label: string, text: string): Promise<void> {
    await this.until(
      `(() => { ${FINDERS} const found = field(${JSON.stringify(label)}); if (!found) return false;
        found.focus(); found.value = ${JSON.stringify(text)};
        found.dispatchEvent(new Event('input', { bubbles: true })); found.dispatchEvent(new Event('change', { bubbles: true })); return true; })()`,
      `a field named ${label}`,
    );
  }

  /** Replaces the text of an editor, as by Ctrl+A and a paste. Waits until the editor is there. */
  async type(label: string, text: string): Promise<void> {
    await this.until(
      `(() => {
        const content = [...document.querySelectorAll('.editor > div')].flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll('.cm-content') ?? [])])
          .find((one) => one.getAttribute('aria-label') === ${JSON.stringify(label)});
        if (content === undefined) return false;
        content.focus();
        const isMac = /Mac/.test(navigator.platform);
        content.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', code: 'KeyA', keyCode: 65, ctrlKey: !isMac, metaKey: isMac, bubbles: true, cancelable: true }));
        // Not a ClipboardEvent: Firefox hides the data of those that scripts make.
        const paste = new Event('paste', { bubbles: true, cancelable: true });
        Object.defineProperty(paste, 'clipboardData', { value: { getData: (type) => (type === 'text/plain' ? ${JSON.stringify(text)} : '') } });
        content.dispatchEvent(paste);
        return true;
      })()`,
      `an editor named ${label}`,
    );
  }

  /** Presses a key in the element with the focus. `modifiers`: such as `{ ctrlKey: true }`. */
  async key(key: string, modifiers: Readonly<Record<string, boolean>> = {}): Promise<void> {
    const init = { key, bubbles: true, cancelable: true, composed: true, ...modifiers };
    await this.tab.evaluate(
      `void (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', ${JSON.stringify(init)}))`,
    );
  }

  /** Waits until the control or the field with that name has the focus. */
  hasFocus(name: string): Promise<void> {
    return this.until(
      `(() => { ${FINDERS} const one = document.activeElement; const wanted = ${JSON.stringify(name)};
        return one !== null && (one === field(wanted) || (one.matches('button, a') && nameOf(one) === wanted)); })()`,
      `the focus on ${name}`,
    );
  }

  /** Does what browsers do at Enter: presses the button with the focus, or the button that submits the form of the field with it. */
  async enter(): Promise<void> {
    await this.tab.evaluate(`void (() => {
      const one = document.activeElement;
      (one.matches('button') ? one : [...(one.form?.elements ?? [])].find(({ type }) => type === 'submit')).click();
    })()`);
  }

  /** Waits until the element is there, and gives it the focus. */
  focus(selector: string): Promise<void> {
    return this.until(
      `(() => { const found = document.querySelector(${JSON.stringify(selector)}); found?.focus(); return found !== null; })()`,
      selector,
    );
  }

  /** Chooses a file, of type `text/plain`, in the field with that label. */
  async choose(label: string, name: string, text: string): Promise<void> {
    await this.until(
      `(() => {
        const input = document.querySelector('input[type=file][aria-label=' + ${JSON.stringify(JSON.stringify(label))} + ']');
        if (input === null) return false;
        const data = new DataTransfer();
        data.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}, { type: 'text/plain' }));
        input.files = data.files;
        input.dispatchEvent(new Event('change', { bubbles: true }));
        return true;
      })()`,
      `a field for files named ${label}`,
    );
  }

  /** Whether requests of the page get no response, as when the server is gone. */
  async setUnreachable(isUnreachable: boolean): Promise<void> {
    await this.tab.evaluate(
      isUnreachable
        ? `void (globalThis.reachableFetch ??= fetch, globalThis.fetch = () => Promise.reject(new TypeError('no network')))`
        : `void (globalThis.fetch = globalThis.reachableFetch)`,
    );
  }

  /** Waits until the page is refused what is at the path. */
  gone(path: string): Promise<void> {
    return this.until(`fetch(${JSON.stringify(`/${path}`)}).then(({ status }) => status === 404)`, `no ${path}`);
  }

  /** Waits until the text is in sight. */
  sees(text: string): Promise<void> {
    return this.until(
      `document.body.innerText.replace(/\\s+/g, ' ').includes(${JSON.stringify(text)})`,
      JSON.stringify(text),
    );
  }

  /** Waits until the text is no longer in sight. */
  seesNo(text: string): Promise<void> {
    return this.until(
      `!document.body.innerText.replace(/\\s+/g, ' ').includes(${JSON.stringify(text)})`,
      `no ${JSON.stringify(text)}`,
    );
  }

  /** Waits until the control can't be used for that reason: rights in a database are known only when the server has said them. */
  isOff(name: string, reason: string): Promise<void> {
    return this.until(
      `(() => { ${FINDERS} const found = control(${JSON.stringify(name)}); return found?.ariaDisabled === 'true' && found.title === ${JSON.stringify(reason)}; })()`,
      `that ${name} is off: ${reason}`,
    );
  }

  /** Why the control can't be used; undefined if it can. */
  async whyOff(name: string): Promise<unknown> {
    await this.until(
      `(() => { ${FINDERS} return control(${JSON.stringify(name)}) !== undefined; })()`,
      `a control named ${name}`,
    );
    return this.tab.evaluate(
      `(() => { ${FINDERS} const found = control(${JSON.stringify(name)}); return found?.ariaDisabled === 'true' ? found.title : undefined; })()`,
    );
  }

  /** Waits until the expression is true. What it throws meanwhile, for example because an element is not there yet, means that it is not. */
  async until(expression: string, what = expression): Promise<void> {
    const thrown = await this.tab.evaluate(`(async () => {
      const end = performance.now() + 50_000;
      let thrown = '';
      while (performance.now() < end) {
        try {
          if (await (${expression})) return true;
          thrown = '';
        } catch (error) { thrown = '; last error: ' + error; }
        await new Promise((done) => setTimeout(done, 40));
      }
      return thrown;
    })()`);
    if (thrown !== true)
      throw new Error(
        `the page does not show ${what}${thrown}; it shows: ${await this.tab.evaluate('document.body.innerText.slice(0, 1500)')}`,
      );
  }

  /** What axe finds on the screen, once its heading is there: the rules that are broken, each with the elements. */
  async violations(): Promise<unknown> {
    await this.until(`document.querySelector('h1') !== null`, 'a heading');
    // Half a megabyte of script, once for each document that the tab loads.
    if ((await this.tab.evaluate('globalThis.axe === undefined')) === true)
      await this.tab.evaluate(`void (() => { ${axe} })()`);
    return this.tab.evaluate(
      `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 150)).join(' | ')))`,
    );
  }
}

class AnyTab extends PageInTab {
  readonly tab: Tab;

  constructor(tab: Tab) {
    super();
    this.tab = tab;
  }
}

export function pageInTab(tab: Tab): PageInTab {
  return new AnyTab(tab);
}
