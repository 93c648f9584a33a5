// An OpenID Connect provider with the certificate and the key that the arguments name. It prints its
// issuer. Who signs in has their login as their address; it is verified unless it begins with "un".
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { Provider } from "oidc-provider";

const server = createServer({ cert: readFileSync(process.argv[2]), key: readFileSync(process.argv[3]) });
server.listen(0, "127.0.0.1", () => {
  const issuer = `https://localhost:${server.address().port}`;
  const provider = new Provider(issuer, {
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    cookies: { keys: ["a key of a test"] },
    features: {
      claimsParameter: { enabled: true },
      registration: { enabled: true, idFactory: () => "piton", secretFactory: () => "hush" },
    },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id, email_verified: !id.startsWith("un") }),
    }),
    pkce: { required: () => true },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
