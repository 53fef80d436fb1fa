import DefaultTheme from 'vitepress/theme-without-fonts';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    // A page that can't be rendered fails the build.
    app.config.throwUnhandledErrorInProduction = true;
  },
};
