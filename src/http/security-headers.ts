import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/** For answers that are data and never a page: nothing may be run, framed, sniffed or kept. */
const forData = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  xFrameOptions: { action: 'deny' },
  // These speak to browsers about pages, plug-ins and downloads, of which there are none here.
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

/**
 * Names and values in turns. They are the same for every answer, so helmet is asked for them once and not for each
 * request.
 */
export const SECURITY_HEADERS: readonly string[] = [...helmetHeaders(), 'Cache-Control', 'no-store'];

function helmetHeaders(): string[] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  forData(request, response, (error) => {
    if (error !== undefined) throw new Error('helmet refused its own options', { cause: error });
  });
  return response.getHeaderNames().flatMap((name) => [name, String(response.getHeader(name))]);
}
