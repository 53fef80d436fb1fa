/** What a driver answers a command that it can't carry out. */
interface Refusal {
  readonly error: string;
  readonly message: string;
}

/** A session of WebDriver (https://www.w3.org/TR/webdriver2/), with the commands that the tests need. */
export class WebDriver {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** `service`: the address of the driver, without a slash at the end. */
  static async start(service: string, capabilities: object): Promise<WebDriver> {
    const answer = await send('POST', `${service}/session`, { capabilities: { alwaysMatch: capabilities } });
    return new WebDriver(`${service}/session/${Object(answer).sessionId}`);
  }

  async window(): Promise<string> {
    return String(await this.#send('GET', '/window'));
  }

  /** Opens a tab, and returns its handle. The commands go on to the current one. */
  async newTab(): Promise<string> {
    return Object(await this.#send('POST', '/window/new', { type: 'tab' })).handle;
  }

  async switchTo(handle: string): Promise<void> {
    await this.#send('POST', '/window', { handle });
  }

  async goTo(url: string): Promise<void> {
    await this.#send('POST', '/url', { url });
  }

  async refresh(): Promise<void> {
    await this.#send('POST', '/refresh', {});
  }

  async back(): Promise<void> {
    await this.#send('POST', '/back', {});
  }

  async closeWindow(): Promise<void> {
    await this.#send('DELETE', '/window');
  }

  async quit(): Promise<void> {
    await this.#send('DELETE', '');
  }

  /** The value that the body of a function returns. */
  execute(script: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#send('POST', '/execute/sync', { script, args });
  }

  /** The value with which the body of a function calls its last argument. */
  executeAsync(script: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#send('POST', '/execute/async', { script, args });
  }

  #send(method: string, path: string, body?: object): Promise<unknown> {
    return send(method, this.#url + path, body);
  }
}

async function send(method: string, url: string, body?: object): Promise<unknown> {
  const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
  const { value }: { value: unknown } = JSON.parse(await response.text());
  if (response.ok) return value;
  const { error, message }: Refusal = Object(value);
  throw new Error(`${error}: ${message}`);
}
