/** Pictures for light and dark pages. In a repository the system's colours decide which one is shown, in the site its own switch does. */

const PICTURE =
  /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img ([^>]*?)src="([^"]+)"([^>]*)>\s*<\/picture>/g;

/** A plugin of markdown-it: both are there, and styles hide one, which is not loaded then. */
export function pictures(markdown) {
  markdown.core.ruler.push('pictures-by-theme', ({ tokens }) => {
    for (const token of tokens) if (token.type === 'html_block') token.content = byTheme(token.content);
  });
}

export function byTheme(html) {
  return html.replace(PICTURE, (_, dark, before, light, after) => {
    const image = (theme, address) => `<img class="only-${theme}" loading="lazy" ${before}src="${address}"${after}>`;
    return `${image('light', light)}\n${image('dark', dark)}`;
  });
}
