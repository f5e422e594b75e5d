import fp from 'fastify-plugin';
import { refusalOf } from './errors.ts';

/** RFC 9110 section 10.1.1: the only expectation that is defined. Node meets it itself. */
const CONTINUE = /^100-continue$/i;

/** Refuses other expectations after the caller is admitted: Node would respond without our headers, to anybody. */
export const expectations = fp(
  async (app) => {
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
    app.addHook('onRequest', (request, _reply, done) => {
      const { expect = '100-continue' } = request.headers;
      done(CONTINUE.test(expect) || request.raw.httpVersionMinor === 0 ? undefined : refusalOf('expectation_failed'));
    });
  },
  { name: 'expectations' },
);
