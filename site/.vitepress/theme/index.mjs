import DefaultTheme from 'vitepress/theme-without-fonts';
import { listen } from '../../run/index.ts';
import './style.css';
import './runnable.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app, router }) {
    // A page that can't be rendered fails the build.
    app.config.throwUnhandledErrorInProduction = true;
    if (typeof document !== 'undefined') listen(import.meta.env.BASE_URL, () => router.route.data.filePath);
  },
};
