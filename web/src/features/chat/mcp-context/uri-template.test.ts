import { expect, test } from "vitest";
import { expand, variablesOf } from "./uri-template";

const values = {
  var: "value",
  hello: "Hello World!",
  path: "/foo/bar",
  empty: "",
  x: "1024",
  y: "768",
  half: "50%",
  who: "fred",
  base: "http://example.com/home/",
};

// Examples of RFC 6570, sections 1.2 and 3.2, for variables with one text.
test.each([
  ["{var}", "value"],
  ["{hello}", "Hello%20World%21"],
  ["{half}", "50%25"],
  ["O{empty}X", "OX"],
  ["O{undef}X", "OX"],
  ["{x,y}", "1024,768"],
  ["{x,hello,y}", "1024,Hello%20World%21,768"],
  ["?{x,undef}", "?1024"],
  ["{var:3}", "val"],
  ["{var:30}", "value"],
  ["{+var}", "value"],
  ["{+hello}", "Hello%20World!"],
  ["{+half}", "50%25"],
  ["{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"],
  ["{+base}index", "http://example.com/home/index"],
  ["{+path}/here", "/foo/bar/here"],
  ["here?ref={+path}", "here?ref=/foo/bar"],
  ["{+path:6}/here", "/foo/b/here"],
  ["{#x,hello,y}", "#1024,Hello%20World!,768"],
  ["{#path,x}/here", "#/foo/bar,1024/here"],
  ["X{.var}", "X.value"],
  ["X{.x,y}", "X.1024.768"],
  ["{/var,x}/here", "/value/1024/here"],
  ["{/var,empty}", "/value/"],
  ["{/var,undef}", "/value"],
  ["{;x,y,empty}", ";x=1024;y=768;empty"],
  ["{?x,y,empty}", "?x=1024&y=768&empty="],
  ["{?x,y,undef}", "?x=1024&y=768"],
  ["?fixed=yes{&x,empty}", "?fixed=yes&x=1024&empty="],
  ["{?who*}", "?who=fred"],
  ["demo://resource/dynamic/text/{x}", "demo://resource/dynamic/text/1024"],
])("%s is %s", (template, expanded) => {
  expect(expand(template, values)).toBe(expanded);
});

test("letters of other alphabets become bytes, and half a letter nothing worse", () => {
  expect(expand("{a}{+b}", { a: "ü🚲", b: "é%20/" })).toBe("%C3%BC%F0%9F%9A%B2%C3%A9%20/");
  expect(expand("{a}", { a: "\u{d800}" })).toBe("%EF%BF%BD");
});

test("a template names its variables", () => {
  expect(variablesOf("x://{a}/{+b,c:3}{?a,d*}")).toEqual(["a", "b", "c", "d"]);
  expect(variablesOf("x://plain")).toEqual([]);
});
