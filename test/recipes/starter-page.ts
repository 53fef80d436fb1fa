/** The page of an app that `create-settee` makes: what its users do, and what they see. */
import { expect } from 'vitest';
import type { Browser, Tab } from '../browser/drivers/browser.ts';
import { patient } from '../support/patience.ts';

/** Until pages show what they are to show: a first visit loads all the files. */
const soon = { ...patient, interval: 50 };

export class StarterPage {
  readonly tab: Tab;

  constructor(tab: Tab) {
    this.tab = tab;
  }

  static async open(browser: Browser, address: string): Promise<StarterPage> {
    return new StarterPage(await browser.open(address));
  }

  async becomes(expression: string, value: unknown): Promise<void> {
    await expect.poll(() => this.tab.evaluate(expression).catch(String), soon).toEqual(value);
  }

  /** The texts of the notes from the top; those that are done begin with `x `. */
  shows(...notes: readonly string[]): Promise<void> {
    return this.becomes(
      "[...document.querySelectorAll('.notes li')].map((item) => (item.querySelector(':checked') ? 'x ' : '') + item.querySelector('span').textContent)",
      notes,
    );
  }

  isEmpty(): Promise<void> {
    return this.becomes("document.querySelector('.empty')?.textContent.trim()", 'No notes yet. Add the first one.');
  }

  /** The widths of the photos that are shown, from the top: 0 for one that can't be loaded. */
  showsPhotos(...widths: readonly number[]): Promise<void> {
    const images = "[...document.querySelectorAll('.notes img')]";
    return this.becomes(`${images}.map(({ complete, naturalWidth }) => (complete ? naturalWidth : 'loading'))`, widths);
  }

  /** With a photo of such a width, if one is given. */
  async add(text: string, photoWidth?: number): Promise<void> {
    await this.becomes("document.querySelector('.add') !== null", true);
    const choose = `const canvas = Object.assign(document.createElement('canvas'), { width: ${photoWidth}, height: 300 });
      canvas.getContext('2d').fillRect(0, 0, 50, 50);
      const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
      const files = new DataTransfer();
      files.items.add(new File([blob], 'photo.png', { type: 'image/png' }));
      form.elements.photo.files = files.files;`;
    await this.tab.evaluate(`(async () => {
      const form = document.querySelector('.add');
      form.elements.text.value = ${JSON.stringify(text)};
      ${photoWidth === undefined ? '' : choose}
      form.requestSubmit();
    })()`);
    await this.becomes("document.querySelector('.add').elements.text.value", '');
  }

  async toggle(text: string): Promise<void> {
    await this.#inNote(text, "querySelector('input').click()");
  }

  async remove(text: string): Promise<void> {
    await this.#inNote(text, "querySelector('button').click()");
  }

  async #inNote(text: string, action: string): Promise<void> {
    const item = `[...document.querySelectorAll('.notes li')].find((one) => one.querySelector('span').textContent === ${JSON.stringify(text)})`;
    await this.tab.evaluate(`void ${item}.${action}`);
  }

  async logIn(user: string, password: string, action: 'log-in' | 'sign-up'): Promise<void> {
    await this.becomes("document.querySelector('.log-in') !== null", true);
    await this.tab.evaluate(`{
      const form = document.querySelector('.log-in');
      form.elements.user.value = ${JSON.stringify(user)};
      form.elements.password.value = ${JSON.stringify(password)};
      form.requestSubmit(form.querySelector('[value=${action}]'));
    }`);
  }

  refuses(reason: string): Promise<void> {
    return this.becomes("document.querySelector('.log-in output')?.textContent", reason);
  }

  isOf(user: string): Promise<void> {
    return this.becomes("document.querySelector('.account span')?.textContent", user);
  }

  says(text: string): Promise<void> {
    return this.becomes("document.querySelector('.sync')?.textContent.trim()", text);
  }

  async logOut(): Promise<void> {
    await this.tab.evaluate("void document.querySelector('.account button').click()");
    await this.isLoggedOut();
  }

  isLoggedOut(): Promise<void> {
    return this.becomes("document.querySelector('.log-in h2')?.textContent", 'Log in');
  }

  isControlled(): Promise<void> {
    return this.becomes('Boolean(navigator.serviceWorker?.controller)', true);
  }

  /** The type of each file that a browser needs to install the app, each of which is answered without a network, too. */
  async installs(name: string): Promise<void> {
    const value = await this.tab.evaluate(`(async () => {
      const manifest = await (await fetch(document.querySelector('link[rel=manifest]').href)).json();
      const types = [];
      for (const { src } of manifest.icons) types.push((await fetch(src)).headers.get('content-type'));
      return { name: manifest.name, display: manifest.display, types };
    })()`);
    const types = ['image/svg+xml', 'image/png', 'image/png', 'image/png'];
    expect(value).toEqual({ name, display: 'standalone', types });
  }
}
