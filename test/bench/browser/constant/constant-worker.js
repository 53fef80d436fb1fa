// Answers the service worker beside it with the body that the page gives: over channels, and over the port that it gives to both.
const answers = new BroadcastChannel('constant-answers');
const questions = new BroadcastChannel('constant-questions');
self.onmessage = ({ data: body, ports: [port] }) => {
  questions.onmessage = ({ data }) => answers.postMessage([data, body]);
  port.onmessage = ({ data }) => port.postMessage([data, body]);
};
