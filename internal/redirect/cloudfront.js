// Redirects old URLs to their new URLs, made by assetferry urls.
//
// Create this function in CloudFront with the runtime cloudfront-js-2.0, associate it with the key
// value store that has the redirects, and with the event viewer request of the distribution.
//
// Verified assets have 301, which browsers keep permanently. The others have 302.
import cf from 'cloudfront';

const redirects = cf.kvs();

async function handler(event) {
    const request = event.request;
    let found;
    try {
        found = await redirects.get(keyOf(request.uri));
    } catch (e) {
        return request; // the store has no such key
    }
    const status = found.slice(0, 3);
    return {
        statusCode: Number(status),
        statusDescription: status === '301' ? 'Moved Permanently' : 'Found',
        headers: { location: { value: found.slice(4) } },
    };
}

// keyOf returns a path in the spelling of the keys: characters that need no encoding are decoded,
// and the others are encoded with upper-case digits.
function keyOf(path) {
    return path.replace(/%[0-9A-Fa-f]{2}|[\uD800-\uDFFF]+|[^\w\-.~!$&'()*+,;=:@\/]/g, function (part) {
        if (!/^%..$/.test(part)) {
            return encodeURIComponent(part);
        }
        const decoded = String.fromCharCode(parseInt(part.slice(1), 16));
        return /^[\w\-.~!$&'()*+,;=:@\/]$/.test(decoded) ? decoded : part.toUpperCase();
    });
}
